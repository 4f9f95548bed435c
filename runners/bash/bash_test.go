//go:build unix

package bash_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/python"
	"coderunner/runners/runnertest"
)

// newRunner returns a runner whose scripts start no Python: it is not there.
func newRunner(t testing.TB) *bash.Runner {
	t.Helper()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := python.New(python.Config{Cache: c, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return bash.New(bash.Config{Machine: func(ctx context.Context, s bash.Script) (*bash.Machine, error) {
		m, err := p.Machine(ctx, python.MachineOptions(s))
		if err != nil {
			return nil, err
		}
		return &bash.Machine{FS: m.FS, Kernel: m.Kernel, Network: m.Network, Close: m.Close, Prepared: m.Prepared}, nil
	}})
}

// TestContract tests what every runner promises.
func TestContract(t *testing.T) {
	runnertest.Run(t, newRunner(t), []runners.Language{runners.Bash})
}

func run(t testing.TB, req runners.Request) *runners.Outcome {
	t.Helper()
	req.Language = runners.Bash
	o, err := newRunner(t).Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRun(t *testing.T) {
	o := run(t, runners.Request{
		Code: "echo \"$1 $(cat data/in.txt)\"; read -r x; echo \"$x\" >&2; echo out > out.txt; exit 3",
		Args: []string{"arg"}, Stdin: strings.NewReader("typed\n"), Files: []runners.File{{Path: "data/in.txt", Data: []byte("file\n")}},
	})
	if o.Status != runners.Failed || o.ExitCode != 3 || o.Stdout != "arg file\n" || o.Stderr != "typed\n" || len(o.Files) != 1 || o.Files[0].Path != "out.txt" {
		t.Errorf("%+v", o)
	}
}

// TestHabits has what models write around scripts and for their files.
func TestHabits(t *testing.T) {
	for code, want := range map[string]string{
		"```bash\necho hi\n```":                                         "hi\n",
		"\n```\necho $LINENO\n```\n":                                    "3\n",
		"````sh\r\necho '```'\r\n````":                                  "```\n",
		"cat /mnt/data/in.txt; echo x > /mnt/data/out.txt; cat out.txt": "in\nx\n",
		"cd /mnt/data && mkdir -p /mnt/data && pwd -P":                  "/home/user\n",
	} {
		o := run(t, runners.Request{Code: code, Files: []runners.File{{Path: "in.txt", Data: []byte("in\n")}}})
		if o.Status != runners.Succeeded || o.Stdout != want {
			t.Errorf("%s: %q %q, want %q", code, o.Stdout, o.Stderr, want)
		}
	}
}

// TestModes has the permissions of the files that a script is given.
func TestModes(t *testing.T) {
	o := run(t, runners.Request{
		Code: "stat -c '%a %n' *; ./s.sh; ./x; ./data.csv; [ -x data.csv ] || echo data; find . -type f -executable | sort", Filename: "main.sh",
		Files: []runners.File{{Path: "data.csv", Data: []byte("echo a,b\n")}, {Path: "s.sh", Data: []byte("#!/bin/sh\necho script\n")}, {Path: "x", Data: []byte("echo x\n"), Runs: true}},
	})
	want := "644 data.csv\n644 main.sh\n755 s.sh\n755 x\nscript\nx\ndata\n./s.sh\n./x\n"
	if o.Stdout != want || o.Stderr != "main.sh: line 1: ./data.csv: Permission denied\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
}

// TestLeftBehind has the output of what still runs when the script ends, for a while.
func TestLeftBehind(t *testing.T) {
	for code, want := range map[string]string{
		"exec > >(tee log.txt) 2>&1\necho one; echo two >&2":         "one\ntwo\n",
		"{ echo 1; echo 2; } > >(tac)":                               "2\n1\n",
		"for i in 1; do (sleep 0.05; echo $i) & done":                "1\n",
		"(sleep 0.05; echo late) & exit 0":                           "late\n",
		"sleep 100 & while :; do :; done & echo first":               "first\n",
		"exec 3> >(sort > sorted.txt); printf '%s\\n' b a >&3; exit": "",
	} {
		o := run(t, runners.Request{Code: code})
		if o.Status != runners.Succeeded || o.Stdout != want {
			t.Errorf("%s: %s %q %q, want %q", code, o.Status, o.Stdout, o.Stderr, want)
		}
		for _, f := range o.Files {
			if f.Size != 8 && f.Path == "log.txt" || f.Size != 4 && f.Path == "sorted.txt" {
				t.Errorf("%s: %s has %d bytes", code, f.Path, f.Size)
			}
		}
	}
}

// TestOpenDocument names the here-document that has no end, where that breaks the script.
func TestOpenDocument(t *testing.T) {
	o := run(t, runners.Request{Code: "if true; then\n  cat <<EOF\n  text\n  EOF\nfi\n"})
	if o.Error == nil || o.Error.Message != "here-document at line 2 delimited by end-of-file (wanted `EOF'), which must begin its line" || o.Error.Line != 2 {
		t.Errorf("%+v", o.Error)
	}
}

// TestRefusals tells what a script asked of the network that it does not have, where the
// script hides it, and nothing of its own machine.
func TestRefusals(t *testing.T) {
	o := run(t, runners.Request{Code: `
x=$(curl -s https://example.com/a); curl -s http://10.1.2.3; (exec 3<>/dev/tcp/example.net/80) 2> /dev/null
curl -s http://localhost:1; (exec 3<>/dev/tcp/127.0.0.1/1); curl -sS example.org`})
	var hosts []string
	for _, c := range o.Usage.Contacted {
		hosts = append(hosts, c.Host+" "+c.Flag)
	}
	want := []string{
		"example.com --allow-net=example.com:443", "10.1.2.3 --allow-net=10.1.2.3:80",
		"example.net --allow-net=example.net:80", "example.org --allow-net=example.org:80",
	}
	if !slices.Equal(hosts, want) || len(o.Refusals()) != 3 || !strings.Contains(o.Stderr, "127.0.0.1/1: Connection refused") {
		t.Errorf("%q %q\n%s", hosts, o.Refusals(), o.Stderr)
	}
}

// TestLimits ends scripts that would never end, or take all memory.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for time limits")
	}
	for _, c := range []struct {
		name, code string
		want       runners.Status
	}{
		{"loop", "while :; do :; done", runners.TimedOut},
		{"loop of commands", "while true; do ls > /dev/null; done", runners.TimedOut},
		{"background", "while :; do :; done & wait", runners.TimedOut},
		{"stubborn", "trap '' TERM INT; trap : EXIT; while :; do :; done", runners.TimedOut},
		{"output", "yes", runners.OutputLimit},
		{"echo", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", runners.OutputLimit},
		{"zeros", "x=$(cat /dev/zero)", runners.OutOfMemory},
		{"doubling", "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", runners.OutOfMemory},
		{"array", "while :; do a+=(" + strings.Repeat("x", 5000) + "); done", runners.OutOfMemory},
		{"replacement", "x=$(head -c 1000000 /dev/zero | tr '\\0' a); y=${x//a/$x}", runners.OutOfMemory},
		{"braces", "echo {1..999999999}", runners.OutOfMemory},
		{"nested braces", "echo {1..9999}{1..9999}{1..9999}", runners.OutOfMemory},
		{"fork bomb", ":(){ :|:& };:; wait", runners.Succeeded},
		{"recursion", "f(){ f; }; f", runners.Failed},
		{"read", "read -r x < /dev/zero; mapfile < /dev/zero", runners.TimedOut},
		{"line", "cat /dev/zero | tr '\\0' a | { read -r x; }", ""}, // by time or by memory
		{"nesting", strings.Repeat("(", 300_000), runners.Failed},
		{"substitutions", strings.Repeat("$(", 300_000), runners.Failed},
		{"chain", "true" + strings.Repeat("|true", 200_000), ""}, // by depth or by memory
		{"sum", "echo $((1" + strings.Repeat("+1", 100_000) + "))", runners.Failed},
		{"here-document", "cat <<E | wc -c\n" + strings.Repeat("a b c $HOME\n", 100_000) + "E\n", runners.Succeeded},
		{"long line", "echo " + strings.Repeat("x", 1<<20) + " | wc -c", runners.Succeeded},
		{"overflow", "echo $((9223372036854775807 + 1)) $((-9223372036854775808 / -1)) $((1 << 99)) $((-9223372036854775808 % -1))", runners.Succeeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := runners.Limits{Timeout: 2 * time.Second, Memory: 64 << 20}
			if c.want != runners.TimedOut && c.want != "" {
				limits.Timeout = time.Minute // another limit ends it, or nothing does
			}
			start := runnertest.ProcessorTime(t)
			o := run(t, runners.Request{Code: c.code, Limits: limits})
			if c.name == "fork bomb" && o.Status == runners.OutputLimit {
				return // each process that cannot be had is a line, and how long it dies out is chance
			}
			if o.Status != c.want && (c.want != "" || o.Status == runners.Succeeded) {
				t.Errorf("%s %d %+v; stdout %.200q, stderr %.300q; want %s", o.Status, o.ExitCode, o.Error, o.Stdout, o.Stderr, c.want)
			}
			if took := runnertest.ProcessorTime(t) - start; took > 6*time.Second {
				t.Errorf("it took %v of processor time", took)
			}
		})
	}
}

// TestUnlisted leaves the file of a script that nobody named out of listings, where
// the script still finds it, and lists it where it has a name or was changed.
func TestUnlisted(t *testing.T) {
	for _, c := range []struct {
		file, code, want string
		files            []runners.File
	}{
		{"", "echo * $(find .) $0; ls -a; tail -c 5 $0; # end", "* . main.sh\n.\n..\n# end", nil},
		{"", "cat main.sh; echo $0 *", "echo $0\n_main.sh main.sh\n", []runners.File{{Path: "main.sh", Data: []byte("echo $0\n")}}},
		{"", "echo >>$0; echo *", "main.sh\n", nil},
		{"", "mv $0 b; echo *", "b\n", nil},
		{"", "ln $0 b; echo *", "b main.sh\n", nil},
		{"own.sh", "echo *", "own.sh\n", nil},
	} {
		o, err := newRunner(t).Run(t.Context(), runners.Request{Language: runners.Bash, Code: c.code, Filename: c.file, Files: c.files})
		if err != nil {
			t.Fatal(err)
		}
		if o.Stdout != c.want {
			t.Errorf("%s: %q %q, want %q", c.code, o.Stdout, o.Stderr, c.want)
		}
	}
}

// TestPiped: a script can ask whether something is piped to it.
func TestPiped(t *testing.T) {
	for stdin, want := range map[string]string{"": "no\n", "x": "piped\n"} {
		if o := run(t, runners.Request{Code: "[ -p /dev/stdin ] && echo piped || echo no", Stdin: strings.NewReader(stdin)}); o.Stdout != want {
			t.Errorf("%q: %q, want %q", stdin, o.Stdout, want)
		}
	}
}

// TestGuestImports: the machine of a language's program knows what its processes of Python import,
// unless there may be other modules of these names.
func TestGuestImports(t *testing.T) {
	var told []string
	refused := errors.New("there is no machine")
	r := bash.New(bash.Config{Machine: func(_ context.Context, s bash.Script) (*bash.Machine, error) {
		told = s.Imports
		return nil, refused
	}})
	g := &bash.Guest{Language: runners.SQL, File: "main.sql", Imports: []string{"csv"}, Prepare: func(context.Context, *runners.Request, []byte) error { return nil }, Main: func(string, *runners.Request) bash.Main { return bash.Main{} }}
	for _, c := range []struct {
		req  runners.Request
		want int
	}{
		{runners.Request{}, 1},
		{runners.Request{Files: []runners.File{{Path: "a.txt"}}}, 1},
		{runners.Request{Files: []runners.File{{Path: "csv.py"}}}, 0},
		{runners.Request{Session: &runners.Session{Files: []runners.SessionFile{{Path: "lib/csv.py", Mode: 0o644}}}}, 0},
	} {
		c.req.Language, told = runners.SQL, nil
		if _, err := r.RunGuest(t.Context(), c.req, g); !errors.Is(err, refused) || len(told) != c.want {
			t.Errorf("%+v: %v, %v", c.req, told, err)
		}
	}
}
