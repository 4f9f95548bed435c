package python

import (
	"bytes"
	"errors"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell"
	"coderunner/runners"
)

// TestMachine runs a script of the shell whose processes are Python's, with the
// packages that a program of Python would have.
func TestMachine(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("beta", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	m, err := r.Machine(t.Context(), runners.Request{Language: runners.Python, Files: []runners.File{{Path: "a.py", Data: []byte("import alpha")}}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	stdout := m.FS.NewFile(memfs.NewOutput("stdout", &out), abi.O_WRONLY, abi.S_IFIFO|0o600)
	defer stdout.Close()
	const script = "echo 'print(7)' >b.py; python3 b.py | sed s/7/eight/\npython3 -c 'import alpha, beta; print(alpha.version, beta.version)'\npip freeze\npython3 -c 'exit(5)'"
	main, err := m.Kernel.Main(kernel.Exec{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: "/home/user", Env: []string{"PATH=/usr/bin"}, Files: map[int]*memfs.File{1: stdout, 2: stdout}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := main.Run(t.Context(), shell.Main)
	m.Close()
	if want := "eight\n1.0 1.0\nalpha==1.0\nbeta==1.0\n"; err != nil || status.Code() != 5 || out.String() != want {
		t.Errorf("%v, exit code %d: %q, want %q", err, status.Code(), out.String(), want)
	}
	if len(m.Packages) != 2 {
		t.Errorf("packages %v", m.Packages)
	}
	var missing *runners.NotInstalledError
	if _, err := r.Machine(t.Context(), runners.Request{Language: runners.Python, Packages: []string{"nowhere"}}); !errors.As(err, &missing) {
		t.Errorf("error %v", err)
	}
}
