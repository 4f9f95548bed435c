package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"coderunner/cache"
)

// TestMain lets the test binary be the child process of TestFileSizeLimit.
func TestMain(m *testing.M) {
	if base := os.Getenv("FETCH_TEST_BASE"); base != "" {
		if err := childFileSize(base); err != nil {
			os.Stdout.WriteString("error: " + err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// open returns a Client with a cache in dir. It does not wait long before it
// tries again.
func open(t *testing.T, dir string, o Options) *Client {
	t.Helper()
	store, err := cache.Open(dir)
	check(t, err)
	c := New(store, o)
	c.backoff = time.Millisecond
	c.maxWait = time.Millisecond
	t.Cleanup(func() {
		c.Close()
		check(t, store.Close())
	})
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sha256Of(data []byte) cache.Digest {
	sum := sha256.Sum256(data)
	return cache.SHA256(hex.EncodeToString(sum[:]))
}

func integrityOf(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// tgz packs entries into a gzipped tar archive.
func tgz(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	return gzipped(t, tarball(t, entries...))
}

// tarball packs entries; a file's contents are what its Linkname says.
func tarball(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		body := ""
		if h.Typeflag == 0 {
			h.Typeflag, body, h.Linkname = tar.TypeReg, h.Linkname, ""
		}
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		h.Size = int64(len(body))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// wantNothing fails if the cache has entries, or anything unfinished.
func wantNothing(t *testing.T, c *Client) {
	t.Helper()
	list, err := c.cache.List(context.Background())
	if err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v; want nothing", list, err)
	}
	wantNoTemps(t, c)
}

// wantNoTemps fails if something unfinished is in the cache.
func wantNoTemps(t *testing.T, c *Client) {
	t.Helper()
	one, err := c.cache.TempDir("test")
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(one), "*-*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v; want only %s", left, err, one)
	}
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
}

// want fails unless err is nil, or has all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want %q in it", err, text)
		}
	}
}
