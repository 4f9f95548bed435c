package memfs

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/fstest"

	"coderunner/internal/machine/abi"
)

// TestConcurrent uses one FS from many goroutines, for the race detector, and
// checks afterwards that the budgets were kept.
func TestConcurrent(t *testing.T) {
	fsys := New(Options{MaxBytes: 4 << 20})
	must(t, fsys.MkdirAll("/mnt", 0o755))
	must(t, fsys.MkdirAll("/d", 0o755))
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 0))
			for range 400 {
				churn(fsys, rng)
			}
			fsys.MountInto("/mnt", fstest.MapFS{fmt.Sprint("pkg/", worker): {Data: []byte("x")}})
			fsys.ReadFile(fmt.Sprint("/mnt/pkg/", worker))
		})
	}
	wg.Wait()
	if got := len(names(t, fsys, "/mnt/pkg")); got != 15 {
		t.Errorf("/mnt/pkg = %s", names(t, fsys, "/mnt/pkg"))
	}
	for i := range 4 {
		fsys.Unlink(nil, fmt.Sprint("/d/", i))
	}
	if bytes, nodes := fsys.Usage(); bytes != 0 || nodes != 2 {
		t.Errorf("%d bytes and %d names are charged, want 0 and 2", bytes, nodes)
	}
}

// churn does something to one of a few files.
func churn(fsys *FS, rng *rand.Rand) {
	path := func() string { return fmt.Sprint("/d/", rng.IntN(4)) }
	switch rng.IntN(6) {
	case 0:
		fsys.Unlink(nil, path())
	case 1:
		fsys.Rename(nil, path(), nil, path(), 0)
	case 2:
		fsys.Link(nil, path(), nil, path(), false)
	case 3:
		if n, e := fsys.Lookup(nil, path(), true); e == abi.OK {
			fsys.Stat(n)
			fsys.Chmod(n, 0o600)
			fsys.Truncate(n, int64(rng.IntN(100_000)))
		}
	default:
		f, e := fsys.Open(bg, nil, path(), abi.O_RDWR|abi.O_CREAT, 0o644)
		if e != abi.OK {
			return
		}
		f.Write(bg, make([]byte, rng.IntN(100_000)))
		f.SeekTo(0, abi.SEEK_SET)
		f.Read(bg, make([]byte, 1000))
		f.ReadDir(func(abi.Dirent) bool { return true })
		f.Close()
	}
}
