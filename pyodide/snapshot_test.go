package pyodide_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// tree is a small package to import.
func tree(body string) []pyodide.Mount {
	return []pyodide.Mount{{
		Dir:  pyodide.SitePackages,
		Key:  body,
		Tree: fstest.MapFS{"probe/__init__.py": {Data: []byte(body)}},
	}}
}

func TestFreeze(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	if none, err := rt.FindSnapshot(context.Background(), []string{"no such module"}, nil); none != nil || err != nil {
		t.Fatalf("found %v, %v", none, err)
	}
	frozen, err := rt.Snapshot(context.Background(), []string{"probe"}, tree("import random, time\nstate = [random.random()]\nwhen = time.monotonic()\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	const program = `
import random, sys, time
preloaded = "probe" in sys.modules
import probe
probe.state.append(1)
[preloaded, len(probe.state), time.monotonic() >= probe.when, random.random()]`
	var drawn []string
	for range 2 {
		res, _, _ := run(t, pyodide.Options{From: frozen}, pyodide.Program{Code: program})
		if res.Value == nil || !strings.HasPrefix(res.Value.Repr, "[True, 2, True, ") {
			t.Fatalf("%+v %+v %v", res.Value, res.Exception, res.Cause)
		}
		drawn = append(drawn, res.Value.Repr)
	}
	if drawn[0] == drawn[1] {
		t.Errorf("two interpreters drew the same random number: %s", drawn[0])
	}
}

func TestFreezeRefuses(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for name, body := range map[string]string{
		"output":                       "print('hello')",
		"file":                         "open('/home/user/left', 'w').close()",
		"large file":                   "open('/tmp/left', 'w').write('x' * 300_000)",
		"files":                        "for i in range(101): open(f'/tmp/{i}', 'w').close()",
		"fifo":                         "import os; os.mkfifo('/tmp/left')",
		"descriptor":                   "f = open(__file__)",
		"exception":                    "1/0",
		"exit":                         "import sys; sys.exit()",
		"folder":                       "import os; os.chdir('/tmp')",
		"umask":                        "import os; os.umask(0)",
		"a library that cannot be had": "import ctypes\ntry: ctypes.CDLL(__file__)\nexcept OSError: pass",
	} {
		frozen, err := rt.Snapshot(context.Background(), []string{"probe"}, tree(body))
		if err == nil {
			frozen.Close()
		}
		if !errors.Is(err, pyodide.ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFreezeKeeps has imports that leave something harmless behind.
func TestFreezeKeeps(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for name, test := range map[string]struct {
		module, body, program, want string
	}{
		"files": {"probe", "import os; os.mkdir('/home/user/.probe'); open('/tmp/left', 'w').write('kept')",
			"import os, sys; 'probe' in sys.modules, os.listdir(), open('/tmp/left').read()", "(True, ['.probe'], 'kept')"},
		"a search for a distribution": {"probe", "from importlib.metadata import distributions\nfound = list(distributions())",
			"import sys; 'probe' in sys.modules", "True"},
		"a submodule":   {"probe:part", "", "import sys; 'probe.part' in sys.modules", "True"},
		"an attribute":  {"probe:part", "part = 1", "import sys, probe; 'probe.part' in sys.modules, probe.part", "(False, 1)"},
		"no such thing": {"probe:none", "", "import sys; 'probe' in sys.modules", "True"},
	} {
		mounts := tree(test.body)
		mounts[0].Tree.(fstest.MapFS)["probe/part.py"] = &fstest.MapFile{}
		frozen, err := rt.Snapshot(context.Background(), []string{test.module}, mounts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if res, _, _ := run(t, pyodide.Options{From: frozen}, pyodide.Program{Code: test.program}); res.Value == nil || res.Value.Repr != test.want {
			t.Errorf("%s: %+v %+v, want %s", name, res.Value, res.Exception, test.want)
		}
		frozen.Close()
	}
}

// TestOwnModuleComesFirst has a file with the name of a preloaded module.
func TestOwnModuleComesFirst(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	in, err := rt.New(context.Background(), pyodide.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.WriteFile("random.py", []byte("mine = 1")); err != nil {
		t.Fatal(err)
	}
	if err := in.WriteFile("/tmp/elsewhere/two", []byte("2")); err != nil {
		t.Fatal(err)
	}
	res, err := in.Run(context.Background(), pyodide.Program{Code: "import random\nrandom.mine, open('/tmp/elsewhere/two').read()"})
	if err != nil || res.Value == nil || res.Value.Repr != "(1, '2')" {
		t.Errorf("%+v %v", res, err)
	}
}

func TestMemoryLimitBelowStart(t *testing.T) {
	_, err := pyodidetest.Runtime(t).New(context.Background(), pyodide.Options{Memory: 8 << 20})
	if err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("New with 8 MiB: %v", err)
	}
}
