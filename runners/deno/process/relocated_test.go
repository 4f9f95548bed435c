package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/internal/prelink"
	"coderunner/internal/testcache"
)

// The Deno of a cache that is this machine's alone is a copy, that of a portable one is not.
func TestRelocated(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("needs Deno, for linux/amd64")
	}
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, portable := range []bool{false, true} {
		tool, err := NewTool(Config{Cache: c, Portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		path, err := tool.Binary(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if copied := strings.Contains(path, filepath.Join("trees", "deno-binary")); copied == portable {
			t.Errorf("portable %v: Deno is %s", portable, path)
		}
		if _, version, err := CheckBinary(path); err != nil || version != tool.Version {
			t.Errorf("portable %v: its version is %s, %v; want %s", portable, version, err, tool.Version)
		}
	}
}

// What cannot be relocated is kept as it is.
func TestRefused(t *testing.T) {
	original := filepath.Join(t.TempDir(), "original")
	const script = "#!/bin/sh\necho deno 2.9.5\n"
	if err := os.WriteFile(original, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "deno")
	var why error
	if err := relocate(copied, original, func(err error) { why = err }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(copied)
	info, statErr := os.Stat(copied)
	if err != nil || statErr != nil || string(text) != script || info.Mode()&0o100 == 0 {
		t.Errorf("%q, %v, %v, %v", text, info, err, statErr)
	}
	if !strings.Contains(why.Error(), prelink.ErrUnsupported.Error()) {
		t.Errorf("the reason is %v", why)
	}
}
