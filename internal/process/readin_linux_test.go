package process

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadIn has a file of which nothing is in memory read as a whole, and one of which there is
// something left alone.
func TestReadIn(t *testing.T) {
	const size = 4 << 20
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, make([]byte, size), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cached := func() int {
		var there unix.Cachestat_t
		if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Len: size}, &there, 0); err != nil {
			t.Skip("the kernel does not tell:", err)
		}
		return int(there.Cache) * os.Getpagesize()
	}
	drop := func() {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		if n := cached(); n > 0 {
			t.Skipf("the file system keeps %d bytes", n)
		}
	}
	drop()
	if ReadIn(name); cached() != size {
		t.Errorf("%d bytes of %d are in memory", cached(), size)
	}
	drop()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM) // nothing is read ahead
	if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
		t.Fatal(err)
	}
	if ReadIn(name); cached() == size {
		t.Error("a file that is partly in memory was read")
	}
	ReadIn(filepath.Join(t.TempDir(), "none"))
}
