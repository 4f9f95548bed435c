package cache

import (
	"context"
	"debug/elf"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"coderunner/internal/defaults"
)

// needRegistry decides what err means for a test that needs a registry: where
// there is no network it is skipped, but never in CI.
func needRegistry(t *testing.T, err error) {
	t.Helper()
	var dns *net.DNSError
	away := errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EHOSTUNREACH)
	if away && os.Getenv("CI") == "" {
		t.Skipf("the npm registry is out of reach: %v", err)
	}
	check(t, err)
}

func TestPyodideFromRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	root := t.TempDir()
	c := open(t, root, Options{})
	registry := os.Getenv("NPM_CONFIG_REGISTRY")
	dir, err := c.Pyodide(context.Background(), registry, nil)
	needRegistry(t, err)
	magic := map[string]string{PyodideWasm: "\x00asm", PyodideStdlib: "PK\x03\x04", PyodideLock: "{", "package.json": "{"}
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		check(t, err)
		if want := magic[e.Name()]; !strings.HasPrefix(string(data), want) {
			t.Errorf("%s does not begin with %q", e.Name(), want)
		}
		delete(magic, e.Name())
		if strings.HasSuffix(e.Name(), "js") {
			t.Errorf("%s is kept", e.Name())
		}
	}
	if len(magic) != 0 {
		t.Errorf("missing: %v", magic)
	}
	if again, err := open(t, root, Options{Offline: true}).Pyodide(context.Background(), registry, nil); again != dir || err != nil {
		t.Errorf("offline: %q, %v", again, err)
	}
	problems, err := c.Verify(context.Background())
	if err != nil || len(problems) != 0 {
		t.Errorf("Verify = %v, %v", problems, err)
	}
}

func TestDenoFromRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	c := open(t, t.TempDir(), Options{})
	binary, err := c.Deno(context.Background(), os.Getenv("NPM_CONFIG_REGISTRY"), nil)
	if errors.Is(err, ErrNoDeno) {
		t.Skip(err)
	}
	needRegistry(t, err)
	out, err := exec.Command(binary, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "deno "+defaults.DenoVersion+" ") {
		t.Errorf("deno --version: %q, %v", out, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	// What we look for on disk before fetching is what the binary needs.
	f, err := elf.Open(binary)
	check(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name := make([]byte, p.Filesz)
			_, err := p.ReadAt(name, 0)
			check(t, err)
			if got, want := strings.TrimRight(string(name), "\x00"), glibcLoader[runtime.GOOS+"/"+runtime.GOARCH]; got != want {
				t.Errorf("deno's loader is %q, want %q", got, want)
			}
		}
	}
}

func TestPinsAreWellFormed(t *testing.T) {
	pins := map[string]string{"pyodide": defaults.PyodideIntegrity}
	for system, build := range defaults.DenoIntegrity {
		if goos, goarch, ok := strings.Cut(system, "/"); !ok || goos == "" || goarch == "" {
			t.Errorf("%q is not GOOS/GOARCH", system)
		}
		if !npmName.MatchString(build.Package) {
			t.Errorf("%s: package %q", system, build.Package)
		}
		pins[system] = build.Integrity
	}
	for name, integrity := range pins {
		if d, err := ParseDigest(integrity); err != nil || d.Algorithm != "sha512" {
			t.Errorf("%s: %v, %v; want a sha512", name, d, err)
		}
	}
	if err := SHA256(defaults.MicropipSHA256).check(); err != nil {
		t.Error(err)
	}
	if want := "micropip-" + defaults.MicropipVersion + "-"; !strings.HasPrefix(defaults.MicropipWheel, want) {
		t.Errorf("wheel %q, want %q", defaults.MicropipWheel, want)
	}
}
