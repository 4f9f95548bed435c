package python

import (
	"fmt"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// Tests that fail are told as CPython tells it elsewhere: by exit codes and by
// what is printed.
func TestFrameworks(t *testing.T) {
	pyodidetest.Runtime(t) // or skip
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const suite = "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): self.assertEqual(1, %s)\n  @unittest.skip('not now')\n  def test_b(self): pass\nif __name__ == '__main__':\n  unittest.main(%s)\n"
	const tests = "import unittest\nclass T(unittest.TestCase):\n  def test_a(self): self.assertEqual(1, %s)\n"
	const doc = "def f(x):\n  '''\n  >>> f(1)\n  %s\n  '''\n  return x + 1\nimport doctest, sys\nr = doctest.testmod()\nsys.exit(bool(r.failed))"
	for _, test := range []struct {
		code           string
		exit           int
		stdout, stderr []string
	}{
		{fmt.Sprintf(suite, "2", ""), 1, nil, []string{"Fs", "FAIL: test_a (__main__.T.test_a)", `File "main.py", line 3, in test_a`, "AssertionError: 1 != 2", "Ran 2 tests in", "FAILED (failures=1, skipped=1)"}},
		{fmt.Sprintf(suite, "1", ""), 0, nil, []string{".s", "OK (skipped=1)"}},
		{fmt.Sprintf(suite, "2", "exit=False"), 0, nil, []string{"FAILED (failures=1, skipped=1)"}},
		{fmt.Sprintf(tests, "2"), 1, nil, []string{"FAIL: test_a (__main__.T.test_a)", "Ran 1 test in"}},
		{fmt.Sprintf(tests, "1"), 0, nil, []string{"Ran 1 test in", "OK"}},
		{"try:\n  from math import tau\nexcept ImportError as e:\n  raise ImportError('no tau') from None\n" + fmt.Sprintf(tests, "1"), 0, nil, []string{"Ran 1 test in", "OK"}},
		{"try:\n  print('more')\nexcept ImportError: pass\n" + fmt.Sprintf(tests, "1"), 0, []string{"more"}, nil},
		{fmt.Sprintf(tests, "2") + "print('more')", 0, []string{"more"}, nil},
		{"import sys, os, warnings, logging\nsys.path.insert(0, os.path.dirname(__file__))\nos.environ.setdefault('A', 'b')\nwarnings.filterwarnings('ignore')\nlogging.disable()\n" + fmt.Sprintf(tests, "2"), 1, nil, []string{"FAIL: test_a (__main__.T.test_a)", "Ran 1 test in"}},
		{"import unittest\nclass Base(unittest.TestCase):\n  def setUp(self): self.one = 1\nclass TestMore(Base):\n  def test_a(self):\n    with self.assertRaises(ValueError): int('a')", 0, nil, []string{"Ran 1 test in", "OK"}},
		{fmt.Sprintf(tests, "2") + "suite = unittest.TestLoader().loadTestsFromTestCase(T)\nresult = unittest.TextTestRunner().run(suite)\n", 0, nil, []string{"FAIL: test_a (__main__.T.test_a)"}},
		{"a = 1\nif a == 0: b = 0\n" + strings.Repeat("elif a == 2: b = 2\n", 800) + fmt.Sprintf(tests, "1"), 0, nil, []string{"Ran 1 test in", "OK"}},
		{"import unittest\nunittest.main()", 5, nil, []string{"NO TESTS RAN"}},
		{fmt.Sprintf(doc, "3"), 1, []string{`File "/home/user/main.py", line 3, in __main__.f`, "Expected:\n    3\nGot:\n    2\n", "***Test Failed*** 1 failure."}, nil},
		{fmt.Sprintf(doc, "2"), 0, nil, nil},
	} {
		o := run(t, r, test.code)
		if o.ExitCode != test.exit || (o.Status == runners.Succeeded) != (test.exit == 0) {
			t.Errorf("%s\nended with %s, %d, want %d: %s%s", test.code, o.Status, o.ExitCode, test.exit, o.Stdout, o.Stderr)
		}
		for _, want := range test.stdout {
			if !strings.Contains(o.Stdout, want) {
				t.Errorf("%s\nprinted %s, want %q", test.code, o.Stdout, want)
			}
		}
		for _, want := range test.stderr {
			if !strings.Contains(o.Stderr, want) {
				t.Errorf("%s\nprinted %s, want %q", test.code, o.Stderr, want)
			}
		}
	}
}

// pytest looks for the program's file, and finds it.
func TestPytest(t *testing.T) {
	r := registryRunner(t)
	for _, modules := range []string{"pytest, pytest_asyncio", "pytest"} {
		if o := run(t, r, "import "+modules+"\n@pytest.mark.asyncio\nasync def test_a(): assert 1"); o.ExitCode != 0 || !strings.Contains(o.Stdout+o.Stderr, "100%]\n1 passed in") || strings.Contains(o.Stderr, "loop_scope") {
			t.Errorf("%s, %d: %s%s", o.Status, o.ExitCode, o.Stdout, o.Stderr)
		}
	}
	const code = "import pytest, sys\ndef test_a(): assert 1 == %s\nif __name__ == '__main__':\n  sys.exit(pytest.main([__file__, '-q']))"
	if o := run(t, r, fmt.Sprintf(code, "2")); o.ExitCode != 1 || !strings.Contains(o.Stdout, "FAILED main.py::test_a - assert 1 == 2\n1 failed in") {
		t.Errorf("%s, %d: %s%s", o.Status, o.ExitCode, o.Stdout, o.Stderr)
	}
	const tests = "import pytest\n@pytest.fixture\ndef one(): return 1\ndef test_a(one): assert one == %s"
	if o := run(t, r, fmt.Sprintf(tests, "2")); o.ExitCode != 1 || !strings.Contains(o.Stdout, "FAILED main.py::test_a - assert 1 == 2\n1 failed in") {
		t.Errorf("%s, %d: %s%s", o.Status, o.ExitCode, o.Stdout, o.Stderr)
	}
	if o := run(t, r, "def test_a(): assert 1"); o.ExitCode != 0 || !strings.Contains(o.Stdout, "1 passed in") {
		t.Errorf("%s, %d: %s%s", o.Status, o.ExitCode, o.Stdout, o.Stderr)
	}
	if o := run(t, r, fmt.Sprintf(code, "1")); o.ExitCode != 0 || !strings.Contains(o.Stdout, "1 passed in") {
		t.Errorf("%s, %d: %s%s", o.Status, o.ExitCode, o.Stdout, o.Stderr)
	}
}

// TestSessionPytest has programs of a session that only define tests: their own run, with
// what earlier ones have defined.
func TestSessionPytest(t *testing.T) {
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{t, store, registryRunner(t)}
	for _, p := range []struct{ code, want string }{
		{"import pytest\n@pytest.fixture\ndef one(): return 1\ndef test_a(one): assert one == 1\ndef test_b(one):\n  assert one == 2", "FAILED call_1.py::test_b - assert 1 == 2\n1 failed, 1 passed in"},
		{"def double(n): return 2 * n\nrate = 2", ""},
		{"def test_c(one): assert double(one) == rate", ".                                                                        [100%]\n1 passed in"},
		{"import unittest\nclass A(unittest.TestCase):\n  def test_a(self): self.assertEqual(double(1), 3)", "FAIL: test_a (__main__.A.test_a)"},
		{"import unittest\nclass B(unittest.TestCase):\n  def test_b(self): self.assertEqual(double(1), rate)", "Ran 1 test in"},
		{"test_c(1)\nimport os\nprint(double(4), os.listdir())", "8 []\n"},
	} {
		o := c.run("s", p.code)
		if out := o.Stdout + o.Stderr; !strings.Contains(out, p.want) || p.want == "" && out != "" || o.ExitCode != 0 != strings.Contains(p.want, "FAIL") || !o.Continued.Kept {
			t.Errorf("%s\n%s, %d: %s%s, want %q", p.code, o.Status, o.ExitCode, o.Stdout, o.Stderr, p.want)
		}
	}
}
