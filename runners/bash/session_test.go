package bash_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"coderunner/runners"
	"coderunner/runners/bash"
)

// TestSession goes on with variables, arrays, functions, options and the working
// directory, and not with what a limit interrupted.
func TestSession(t *testing.T) {
	r := bash.New(bash.Config{})
	dirs := map[string]string{}
	before := ""
	call := func(after, code string) *runners.Outcome {
		t.Helper()
		save := t.TempDir()
		dirs[after] = save
		saved := dirs[before]
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Bash, Code: code, Session: &runners.Session{
			Key: "s", Before: before, After: after, Save: save,
			Saved: func() (map[string]string, error) {
				files := map[string]string{}
				list, err := os.ReadDir(saved)
				for _, f := range list {
					files[f.Name()] = filepath.Join(saved, f.Name())
				}
				return files, err
			},
			Leave: func(fs.FS, runners.File) (runners.Left, error) { return runners.Left{}, nil },
		}})
		if err != nil {
			t.Fatal(err)
		}
		if o.Continued.Kept {
			before = after
		}
		return o
	}
	o := call("1", "x='a b'; list=(1 \"two words\"); declare -A m=([k]=v); n=5; declare -i n; export E=e; readonly R=r; f() { echo \"f $1 $x\"; }; mkdir -p d; cd /tmp; shopt -s nullglob; set -u; alias l=ls")
	if o.Status != runners.Succeeded || !o.Continued.Kept || o.Continued.Origin != runners.OriginFresh {
		t.Fatalf("%+v %+v", o, o.Continued)
	}
	types := map[string]string{}
	for _, v := range o.Continued.Variables {
		types[v.Name] = v.Type
	}
	for name, want := range map[string]string{"x": "string", "list": "array", "m": "associative array", "n": "integer", "f": "function"} {
		if types[name] != want {
			t.Errorf("the type of %s is %q, want %q", name, types[name], want)
		}
	}
	if _, ok := types["PATH"]; ok {
		t.Error("PATH counts as the program's")
	}
	o = call("2", "f 1; echo \"${list[1]} ${m[k]} $R $(bash -c 'echo $E') $PWD $?\"; n+=2; echo $n *.none; exit 3")
	if want := "f 1 a b\ntwo words v r e /tmp 0\n7\n"; o.Stdout != want || o.ExitCode != 3 || o.Continued.Origin != runners.OriginRestored {
		t.Errorf("got %d %q %q, want %q", o.ExitCode, o.Stdout, o.Stderr, want)
	}
	o = call("2a", "trap 'echo \"got $x\"' USR1; trap '' HUP; trap 'echo bye' EXIT")
	if o.Stdout != "bye\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
	if o = call("2b", "kill -HUP $$; kill -USR1 $$; trap -p; trap - USR1 HUP"); o.Stdout != "got a b\ntrap -- '' SIGHUP\ntrap -- 'echo \"got $x\"' SIGUSR1\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
	o = call("3", "x=changed; cat /dev/zero | tr '\\0' a")
	if o.Status != runners.OutputLimit || o.Continued.Kept {
		t.Errorf("%s, kept %v", o.Status, o.Continued.Kept)
	}
	if o = call("4", "echo \"$x $n\"; echo $unset_; echo not reached"); o.Stdout != "a b 7\n" || o.ExitCode == 0 {
		t.Errorf("%d %q %q", o.ExitCode, o.Stdout, o.Stderr)
	}
}
