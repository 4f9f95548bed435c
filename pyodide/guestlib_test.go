package pyodide_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/pyodide"
)

// TestGuestLibrary runs the programs in testdata/guest: each is about what the
// guest's half adds to the standard library, and prints ok.
func TestGuestLibrary(t *testing.T) {
	programs, err := filepath.Glob("testdata/guest/*.py")
	if err != nil || len(programs) == 0 {
		t.Fatal(programs, err)
	}
	for _, name := range programs {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".py"), func(t *testing.T) {
			code, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			res, stdout, stderr := run(t, pyodide.Options{Location: time.UTC}, pyodide.Program{Code: string(code)})
			if stdout != "ok\n" || res.Exception != nil {
				t.Errorf("%+v %+v\n%s%s", res, res.Exception, stdout, stderr)
			}
			const alarm = 128 + 14
			if strings.HasPrefix(filepath.Base(name), "signals") && (res.ExitCode != alarm || stderr != "Alarm clock\n") {
				t.Errorf("after the last alarm: exit code %d, %q", res.ExitCode, stderr)
			}
		})
	}
}

// TestHashCallsAreBounded has programs that ask for more than the host does at
// once.
func TestHashCallsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name, code, want string
	}{
		{"iterations", "hashlib.pbkdf2_hmac('sha512', b'', b'', 2**31 - 1)", "KeyboardInterrupt"},
		{"length", "hashlib.pbkdf2_hmac('sha512', b'', b'', 1, 2**31 - 1)", "KeyboardInterrupt MemoryError"},
		{"memory", "hashlib.scrypt(b'', salt=b'', n=2**20, r=8, p=1, maxmem=2**31 - 1)", "MemoryError"},
		{"lanes", "hashlib.scrypt(b'', salt=b'', n=2**10, r=8, p=2**17, maxmem=2**29)", "KeyboardInterrupt"},
		{"many hashes", "h = hashlib.new('ripemd160')\n  while True: h.update(bytes(10**7))", "MemoryError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := "import hashlib\nif True:\n  " + c.code
			limit := 2 * time.Second
			if !strings.Contains(c.want, "KeyboardInterrupt") {
				limit = time.Minute
			}
			res, _, _ := runEnduring(t, time.Minute, pyodide.Options{Memory: 256 << 20}, pyodide.Program{Code: code, Timeout: limit})
			if res.Exception == nil || !strings.Contains(c.want, res.Exception.Type) {
				t.Errorf("%v, %+v, want %s", res.Ended, res.Exception, c.want)
			}
		})
	}
}

// TestMemoryErrorKinds has exceptions that are a MemoryError by another name.
func TestMemoryErrorKinds(t *testing.T) {
	for code, want := range map[string]bool{
		"bytearray(10**9)": true,
		"class Array(MemoryError): pass\ntry: bytearray(10**9)\nexcept MemoryError: raise Array": true,
		"raise ValueError": false,
	} {
		res, _, _ := run(t, pyodide.Options{Memory: 128 << 20}, pyodide.Program{Code: code})
		if res.Exception == nil || res.Exception.NoMemory != want {
			t.Errorf("%s: %+v", code, res.Exception)
		}
	}
}
