package python

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell"
	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
)

// script publishes a wheel with a console script of its name, which prints its
// arguments, and exits with how many there are.
func (x *index) script(name, version string) {
	module := strings.ReplaceAll(name, "-", "_")
	x.add(wheeltest.Wheel{
		Filename: fmt.Sprintf("%s-%s-py3-none-any.whl", module, version),
		Files: map[string]string{
			module + "/__init__.py": fmt.Sprintf("version = %q\n", version),
			module + "/__main__.py": "from .cli import Main\nraise SystemExit(Main.run())\n",
			module + "/cli.py":      "import sys\nclass Main:\n  def run():\n    __import__('" + module + "').cli  # is this one\n    print('" + name + "', *sys.argv[1:])\n    return len(sys.argv) - 1\n",
			fmt.Sprintf("%s-%s.dist-info/entry_points.txt", module, version): "[other]\nnone = nowhere:x\n\n[console_scripts]\n# a comment\n" + name + " = " + module + ".cli:Main.run\n../evil = os:abort\n",
		},
	})
}

// Each program runs the console script of the package alpha.
func TestScripts(t *testing.T) {
	x := newIndex(t)
	x.script("alpha", "1.0")
	x.script("beta-tool", "1.0")
	x.module("gamma", "1.0")
	r := x.newRunner(base{}, false, t.TempDir())
	const head = "import os, shutil, subprocess, sys\n"
	for what, code := range map[string]string{
		"which":       "assert shutil.which('alpha') == '/usr/local/bin/alpha' and os.access('/usr/local/bin/alpha', os.X_OK)\nassert os.listdir('/usr/local/bin') == ['alpha']",
		"a run":       "r = subprocess.run(['alpha', 'a b', 'c'], capture_output=True, text=True)\nassert (r.returncode, r.stdout, r.stderr) == (2, 'alpha a b c\\n', ''), r",
		"a shell":     "assert subprocess.check_output('which alpha; alpha x | tr a-z A-Z; (alpha)', shell=True) == b'/usr/local/bin/alpha\\nALPHA X\\nalpha\\n'",
		"os.system":   "assert os.system('alpha x') >> 8 == 1",
		"-m":          "assert subprocess.run([sys.executable, '-m', 'alpha', 'x']).returncode == 1",
		"what it is":  "import alpha\nassert open('/usr/local/bin/alpha').readline() == '#!/usr/bin/python3\\n'",
		"imported":    "import alpha, alpha.cli\nassert subprocess.run(['alpha']).returncode == 0",
		"its path":    "assert subprocess.check_output(['alpha'], cwd='/tmp') == b'alpha\\n'",
		"no module":   "open('calendar', 'w').write('import sys; print(\"calendar\" in sys.modules)')\nassert subprocess.check_output([sys.executable, 'calendar']) == b'True\\n'",
		"a file of a": "open('alpha.py', 'w').write('1/0')\nassert subprocess.check_output(['alpha']) == b'alpha\\n'",
	} {
		t.Run(what, func(t *testing.T) { value(t, run(t, r, head+code+"\n'done'", "alpha"), "'done'") })
	}
	t.Run("installed while the program runs", func(t *testing.T) {
		const late = "assert shutil.which('beta-tool') is None\nimport micropip\nawait micropip.install('beta-tool')\nassert subprocess.run(['beta-tool', 'x']).returncode == 1\n'done'"
		value(t, run(t, r, head+late, "alpha"), "'done'")
	})
	t.Run("none", func(t *testing.T) {
		value(t, run(t, r, "import os\nos.path.exists('/usr/local/bin')"), "False")
		value(t, run(t, r, "import os\nos.listdir('/usr/local/bin')", "gamma"), "[]")
	})
	t.Run("bash", func(t *testing.T) {
		r.cfg.Policy.Net = runners.Grant{List: []string{strings.TrimPrefix(x.server.URL, "http://")}}
		m, err := r.Machine(t.Context(), machineFor(runners.Request{Language: runners.Python, Packages: []string{"alpha"}}))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var out bytes.Buffer
		stdout := m.FS.NewFile(memfs.NewOutput("stdout", &out), abi.O_WRONLY, abi.S_IFIFO|0o600)
		defer stdout.Close()
		const script = "which alpha; alpha x || echo $?; pip install -q beta-tool; beta-tool y"
		main, err := m.Kernel.Main(kernel.Exec{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: "/home/user", Env: []string{"PATH=" + kernel.DefaultPath}, Files: map[int]*memfs.File{1: stdout, 2: stdout}})
		if err != nil {
			t.Fatal(err)
		}
		status, err := main.Run(t.Context(), shell.Main)
		if want := "/usr/local/bin/alpha\nalpha x\n1\nbeta-tool y\n"; err != nil || status.Code() != 1 || out.String() != want {
			t.Errorf("%v, exit code %d: %q, want %q", err, status.Code(), out.String(), want)
		}
	})
}
