package runners

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	all := Grant{All: true}
	tests := []struct {
		args string
		want Policy
	}{
		{"", Policy{}},
		{"--allow-net", Policy{Args: []string{"--allow-net"}, Net: all}},
		{"-N=a.example,b.example:80", Policy{Args: []string{"--allow-net=a.example,b.example:80"}, Net: Grant{List: []string{"a.example", "b.example:80"}}}},
		{"-RN", Policy{Args: []string{"--allow-read", "--allow-net"}, Read: all, Net: all}},
		{"-NR=/x", Policy{Args: []string{"--allow-net", "--allow-read=/x"}, Read: Grant{List: []string{"/x"}}, Net: all}},
		{"-R=data", Policy{Args: []string{"--allow-read=" + filepath.Join(wd, "data")}, Read: Grant{List: []string{filepath.Join(wd, "data")}}}},
		{"--allow-read=/a,/c --allow-read=/c,/d", Policy{
			Args: []string{"--allow-read=/a,/c", "--allow-read=/c,/d"},
			Read: Grant{List: []string{"/a", "/c", "/d"}}}},
		{"--allow-env=A --allow-env", Policy{Args: []string{"--allow-env=A", "--allow-env"}, Env: all}},
		{"--allow-env --allow-env=A", Policy{Args: []string{"--allow-env", "--allow-env=A"}, Env: all}},
		{"--ignore-env=A --ignore-read=/x --deny-sys -I=h", Policy{
			Args:      []string{"--ignore-env=A", "--ignore-read=/x", "--deny-sys", "--allow-import=h"},
			IgnoreEnv: Grant{List: []string{"A"}}, IgnoreRead: Grant{List: []string{"/x"}},
			DenySys: all, Import: Grant{List: []string{"h"}}}},
		{"-A --deny-net=10.0.0.0/8", Policy{
			Args: []string{"--allow-all", "--deny-net=10.0.0.0/8"}, All: true,
			Read: all, Write: all, Net: all, Env: all, Run: all, Sys: all, FFI: all, Import: all,
			DenyNet: Grant{List: []string{"10.0.0.0/8"}}}},
	}
	for _, tt := range tests {
		got, err := ParsePolicy(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("ParsePolicy(%s): %v", tt.args, err)
			continue
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParsePolicy(%s) = %+v, want %+v", tt.args, got, tt.want)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"--allow-scripts":             "--allow-scripts",
		"--allow-scripts=npm:x":       "lifecycle scripts",
		"-P":                          "-P",
		"--permission-set=x":          "--permission-set",
		"--no-prompt":                 "always in force",
		"--allow-hrtime":              "--allow-hrtime",
		"--allow-nets":                "--allow-nets",
		"--ignore-net":                "--ignore-net",
		"--v8-flags=--expose-gc":      "--v8-flags",
		"--config=x":                  "--config",
		"-RX":                         "-RX",
		"-":                           `"-"`,
		"main.ts":                     `"main.ts"`,
		"":                            `""`,
		"--allow-all=x":               "--allow-all",
		"--allow-read=":               "empty",
		"--allow-read=/a,":            "empty",
		"--allow-read=/a,,b":          "empty",
		"--allow-net=a\x00b":          "NUL",
		"--allow-read\n--allow-write": "not a permission flag",
	} {
		p, err := ParsePolicy([]string{"--allow-net", arg})
		if err == nil {
			t.Errorf("ParsePolicy(%q) = %+v, want an error", arg, p)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePolicy(%q): %v, want it to say %q", arg, err, want)
		}
		if !reflect.DeepEqual(p, Policy{}) {
			t.Errorf("ParsePolicy(%q) grants %+v with its error", arg, p)
		}
	}
}

func TestPolicyQuestions(t *testing.T) {
	p, err := ParsePolicy([]string{"-R=/data,/etc/hosts", "--deny-read=/data/secret", "-W=/out", "-E=HOME,AWS_*,KEY", "--deny-env=KEY"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/data": true, "/data/a": true, "/data/..a": true, "/database": false, "/data/../etc/shadow": false,
		"/data/secret": false, "/data/secret/x": false, "/data/secrets": true, "/etc/hosts": true, "/etc": false, "/": false,
	} {
		if got := p.CanRead(path); got != want {
			t.Errorf("CanRead(%s) = %v, want %v", path, got, want)
		}
	}
	if p.CanWrite("/data/a") || !p.CanWrite("/out/a") {
		t.Errorf("CanWrite: /data/a %v, /out/a %v, want false, true", p.CanWrite("/data/a"), p.CanWrite("/out/a"))
	}
	for name, want := range map[string][2]bool{ // CanEnv, HostEnv
		"HOME": {true, true}, "AWS_KEY": {true, false}, "KEY": {false, false}, "PATH": {false, false},
	} {
		if got := [2]bool{p.CanEnv(name), p.HostEnv(name)}; got != want {
			t.Errorf("CanEnv, HostEnv of %s = %v, want %v", name, got, want)
		}
	}
	all, _ := ParsePolicy([]string{"-A"})
	if all.HostEnv("HOME") || !all.CanEnv("HOME") || !all.CanRead("/x") {
		t.Error("-A: want everything allowed and no variable of the host handed on")
	}
}

func TestPolicyWarnings(t *testing.T) {
	for args, want := range map[string]int{"": 0, "-R=/x -N": 0, "--allow-run=git": 1, "--allow-ffi --deny-ffi": 0, "-A": 4, "-R -N": 1, "-W=/x": 1, "-W=/x -R=/x": 0, "-W=/x/y,/z -R=/x": 1, "-W": 2} {
		p, err := ParsePolicy(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Warnings(); len(got) != want {
			t.Errorf("Warnings of %q = %q, want %d", args, got, want)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add("--allow-read=/a,b,c")
	f.Add("-RWN=x")
	f.Fuzz(func(t *testing.T, arg string) {
		p, err := ParsePolicy([]string{arg})
		if err != nil {
			return
		}
		again, err := ParsePolicy(p.Args)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("ParsePolicy(%q).Args = %q, which parse as %+v, %v", arg, p.Args, again, err)
		}
	})
}
