package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"coderunner/cache"
)

// A disk that cannot be read: reading /proc/self/mem from its beginning is an
// input/output error everywhere.
func TestReadError(t *testing.T) {
	c := open(t, t.TempDir(), Options{})
	_, _, err := c.Blob(context.Background(), Source{URL: "file:///proc/self/mem", Digest: sha256Of(payload)}, nil)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("Blob: %v, want %v", err, syscall.EIO)
	}
	wantNothing(t, c)
}

// A limit on the size of files strikes like a full disk: nothing is asked for
// twice, and the error has a hint.
func TestFileSizeLimit(t *testing.T) {
	archive := tgz(t, file("package/large", noise(100_000)))
	base, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			w.Write(archive)
			return
		}
		w.Write(payload)
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FETCH_TEST_BASE="+base, "FETCH_TEST_ROOT="+t.TempDir(), "FETCH_TEST_INTEGRITY="+integrityOf(archive))
	if out, err := cmd.CombinedOutput(); err != nil || requests.Load() != 2 {
		t.Errorf("%d requests, %v: %s", requests.Load(), err, out)
	}
}

func childFileSize(base string) error {
	store, err := cache.Open(os.Getenv("FETCH_TEST_ROOT"))
	if err != nil {
		return err
	}
	defer store.Close()
	limit := syscall.Rlimit{Cur: 10_000, Max: 10_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	c, ctx := New(store, Options{}), context.Background()
	_, _, berr := c.Blob(ctx, Source{URL: base + "/x", Digest: sha256Of(payload)}, nil)
	_, nerr := c.NPM(ctx, NPMPackage{Registry: base, Name: "x", Version: "1.0.0", Integrity: os.Getenv("FETCH_TEST_INTEGRITY")}, nil)
	for _, err := range []error{berr, nerr} {
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "hint:") {
			return fmt.Errorf("past the limit: %w", err)
		}
	}
	if list, err := store.List(ctx); err != nil || len(list) > 0 {
		return fmt.Errorf("past the limit %v is left, %w", list, err)
	}
	return nil
}
