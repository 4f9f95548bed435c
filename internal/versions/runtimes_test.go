package versions

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

	"coderunner/cache"
	"coderunner/internal/fetch"
)

// fetched returns the directory of a package, in a cache of the test's own.
// Where there is no network the test is skipped, but never in CI.
func fetched(t *testing.T, p fetch.NPMPackage) (dir string, store *cache.Cache) {
	t.Helper()
	store, err := cache.Open(t.TempDir())
	check(t, err)
	c := fetch.New(store, fetch.Options{})
	t.Cleanup(func() {
		c.Close()
		check(t, store.Close())
	})
	dir, err = c.NPM(context.Background(), p, nil)
	var dns *net.DNSError
	away := errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EHOSTUNREACH)
	if away && os.Getenv("CI") == "" {
		t.Skipf("the npm registry is out of reach: %v", err)
	}
	check(t, err)
	return dir, store
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPyodideFromRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	p := Pyodide(os.Getenv("NPM_CONFIG_REGISTRY"))
	dir, store := fetched(t, p)
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
	if again, err := fetch.New(store, fetch.Options{Offline: true}).NPM(context.Background(), p, nil); again != dir || err != nil {
		t.Errorf("offline: %q, %v", again, err)
	}
	problems, err := store.Verify(context.Background())
	if err != nil || len(problems) != 0 {
		t.Errorf("Verify = %v, %v", problems, err)
	}
}

func TestDenoFromRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the npm registry")
	}
	p, executable, err := Deno(os.Getenv("NPM_CONFIG_REGISTRY"))
	if errors.Is(err, errNoDeno) {
		t.Skip(err)
	}
	check(t, err)
	dir, _ := fetched(t, p)
	binary := filepath.Join(dir, executable)
	out, err := exec.Command(binary, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "deno "+DenoVersion+" ") {
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
	pins := map[string]string{"pyodide": PyodideIntegrity}
	for system, build := range denoBuilds {
		if goos, goarch, ok := strings.Cut(system, "/"); !ok || goos == "" || goarch == "" {
			t.Errorf("%q is not GOOS/GOARCH", system)
		}
		if !strings.HasPrefix(build.Package, "@deno/") {
			t.Errorf("%s: package %q", system, build.Package)
		}
		pins[system] = build.Integrity
	}
	for name, integrity := range pins {
		if d, err := cache.ParseDigest(integrity); err != nil || d.Algorithm != "sha512" {
			t.Errorf("%s: %v, %v; want a sha512", name, d, err)
		}
	}
}
