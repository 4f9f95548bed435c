package bash_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"coderunner/runners"
)

// TestSession goes on with variables, arrays, functions, options and the working
// directory, and not with what a limit interrupted.
func TestSession(t *testing.T) {
	r := newRunner(t)
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
	o := call("1", "x='a b'; list=(1 \"two words\"); declare -A m=([k]=v) later; n=5; declare -i n; export E=e; readonly R=r; f() { echo \"f $1 $x\"; }; mkdir -p d; cd /tmp; shopt -s nullglob; set -u; alias l=ls")
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
	if o = call("2c", "later[a b]=1; later[c]=2; echo ${#later[@]}"); o.Stdout != "2\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
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

// TestSessionErrors names the call that a function comes from, and the line there.
func TestSessionErrors(t *testing.T) {
	r, saved := newRunner(t), ""
	for i, c := range []struct{ code, want string }{
		{"x=1\n\nf() {\n  cat <<E\n$x\nE\n  nosuch$1\n}\ng() { echo ${BASH_SOURCE[0]} $LINENO >&2; }", ""},
		{"h() {\n  f 2; echo $((1 / 0)); }; f 1", "call_1.sh: line 7: nosuch1: command not found\n"},
		{"\ng; h", "call_1.sh 9\ncall_1.sh: line 7: nosuch2: command not found\ncall_2.sh: line 2: 1 / 0: division by 0 (error token is \"0\")\n"},
		{"unset -f h\ng\nnosuch3", "call_1.sh 9\ncall_4.sh: line 3: nosuch3: command not found\n"},
	} {
		save, before := t.TempDir(), saved
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Bash, Code: c.code, Filename: fmt.Sprintf("call_%d.sh", i+1), Session: &runners.Session{
			Key: "s", Before: before, After: save, Save: save,
			Saved: func() (map[string]string, error) {
				return map[string]string{"state.sh": filepath.Join(before, "state.sh")}, nil
			},
			Leave: func(fs.FS, runners.File) (runners.Left, error) { return runners.Left{}, nil },
		}})
		if err != nil {
			t.Fatal(err)
		}
		if saved = save; o.Stderr != c.want {
			t.Errorf("%s\n%q, want %q", c.code, o.Stderr, c.want)
		}
	}
}

// TestSessionDescriptors keeps the descriptors of files, with their positions, and none
// that lead elsewhere.
func TestSessionDescriptors(t *testing.T) {
	r := newRunner(t)
	save, kept := t.TempDir(), ""
	file := filepath.Join(t.TempDir(), "contents")
	call := func(code string, files ...runners.SessionFile) *runners.Outcome {
		t.Helper()
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Bash, Code: code, Filename: "call_1.sh", Session: &runners.Session{Unnamed: true,
			Key: "s", Before: kept, After: "2", Save: save, Files: files,
			Saved: func() (map[string]string, error) {
				return map[string]string{"state.sh": filepath.Join(save, "state.sh")}, nil
			},
			Leave: func(dir fs.FS, own runners.File) (runners.Left, error) {
				if b, err := fs.ReadFile(dir, "in"); err == nil {
					return runners.Left{}, os.WriteFile(file, b, 0o600)
				}
				return runners.Left{}, nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		kept = "1"
		return o
	}
	o := call("printf '1\\n2\\n3\\n' >in; exec 3<in 4>&1 5>>in 6>/tmp/out 7< <(echo x) 8<>in >/tmp/all; read -u 3 l; echo 4 >&5; ls >&4")
	if o.Stdout != "in\n" || o.Stderr != "" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	in := runners.SessionFile{Path: "in", Mode: 0o644, Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), Source: file}
	o = call("read -u 3 l; echo $l >&4; echo 5 >&5; cat <&8; for fd in 6 7 9; do : >&$fd; done 2>/dev/null || echo closed", in)
	if o.Stdout != "2\n1\n2\n3\n4\n5\nclosed\n" {
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
	if o = call("echo >&3; echo >&4; : <&8"); o.Stdout != "\n" { // the file is gone
		t.Errorf("%q %q", o.Stdout, o.Stderr)
	}
}
