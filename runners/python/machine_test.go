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

// machineFor are the options of a machine whose program names commands of packages.
func machineFor(req runners.Request, commands ...string) MachineOptions {
	return MachineOptions{
		Request: req,
		Program: func() (runners.Request, []string) { return req, commands },
		Hold:    func() (release func()) { return func() {} },
	}
}

// bash runs a script on a machine and returns its exit code and its output.
func (m *Machine) bash(t *testing.T, script string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	stdout := m.FS.NewFile(memfs.NewOutput("stdout", &b), abi.O_WRONLY, abi.S_IFIFO|0o600)
	defer stdout.Close()
	main, err := m.Kernel.Main(kernel.Exec{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: "/home/user", Env: []string{"PATH=" + kernel.DefaultPath}, Files: map[int]*memfs.File{1: stdout, 2: stdout}})
	if err != nil {
		t.Fatal(err)
	}
	status, err := main.Run(t.Context(), shell.Main)
	if err != nil {
		t.Error(err)
	}
	return status.Code(), b.String()
}

// TestMachine runs a script of the shell whose processes are Python's, with the
// packages that a program of Python would have.
func TestMachine(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0", "beta")
	x.module("beta", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	m, err := r.Machine(t.Context(), machineFor(runners.Request{Language: runners.Python, Files: []runners.File{{Path: "a.py", Data: []byte("import alpha")}}}))
	if err != nil {
		t.Fatal(err)
	}
	const script = "echo 'print(7)' >b.py; python3 b.py | sed s/7/eight/\npython3 -c 'import alpha, beta; print(alpha.version, beta.version)'\npip freeze\npython3 -c 'exit(5)'"
	code, out := m.bash(t, script)
	m.Close()
	if want := "eight\n1.0 1.0\nalpha==1.0\nbeta==1.0\n"; code != 5 || out != want {
		t.Errorf("exit code %d: %q, want %q", code, out, want)
	}
	if _, packages, err := m.Prepared(); len(packages) != 2 || err != nil {
		t.Errorf("packages %v, %v", packages, err)
	}
	var missing *runners.NotInstalledError
	if _, err := r.Machine(t.Context(), machineFor(runners.Request{Language: runners.Python, Packages: []string{"nowhere"}})); !errors.As(err, &missing) {
		t.Errorf("error %v", err)
	}
}

// TestMachineOnDemand: Python is made ready when a process executes it, or a command of
// a package that the program names, and not before.
func TestMachineOnDemand(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.script("beta-tool", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	machine := func(code string, commands ...string) *Machine {
		t.Helper()
		m, err := r.Machine(t.Context(), machineFor(runners.Request{Language: runners.Python, Code: code}, commands...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}
	m := machine("import alpha")
	if code, out := m.bash(t, "type python3 >/dev/null && no-such-command 2>/dev/null; echo $?"); code != 0 || out != "127\n" || m.job != nil {
		t.Errorf("without Python: %d, %q, ready: %v", code, out, m.job != nil)
	}
	if code, out := m.bash(t, "python3 -c 'import alpha; print(alpha.version)' & python3 -c 'import alpha; print(alpha.version)'; wait"); code != 0 || out != "1.0\n1.0\n" {
		t.Errorf("two at once: %d, %q", code, out)
	}
	m = machine("import beta_tool", "beta-tool")
	if code, out := m.bash(t, "command -v beta-tool"); code != 0 || out != "/usr/local/bin/beta-tool\n" {
		t.Errorf("a command of a package: %d, %q", code, out)
	}
	m = machine("# /// script\n# dependencies = ['nowhere']\n# ///")
	if code, out := m.bash(t, "echo before; python3 -c ''; echo after"); out != "before\n" {
		t.Errorf("what cannot be installed: %d, %q", code, out)
	}
	var missing *runners.NotInstalledError
	if _, _, err := m.Prepared(); !errors.As(err, &missing) || !errors.As(m.Kernel.Failure(), &missing) {
		t.Errorf("error %v, failure %v", err, m.Kernel.Failure())
	}
}

// TestMachineImports: processes that import the same begin with the snapshot of that.
func TestMachineImports(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	run := func(imports []string) string {
		t.Helper()
		o := machineFor(runners.Request{Language: runners.Python, Limits: runners.Limits{}.WithDefaults()})
		o.Imports = imports
		m, err := r.Machine(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		_, out := m.bash(t, `python3 -c 'import sys; print("colorsys" in sys.modules)'`)
		return out
	}
	alike := []string{"colorsys"}
	run(alike) // the snapshot is made for the second
	for i, got := range []string{run(alike), run(alike), run(nil)} {
		if want := []string{"True\n", "True\n", "False\n"}[i]; got != want {
			t.Errorf("run %d: colorsys is there: %q, want %q", i, got, want)
		}
	}
}
