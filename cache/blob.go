package cache

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Source says where a download comes from and what it must be.
type Source struct {
	URL     string // https, http or file
	Digest  Digest
	MaxSize int64  // bytes; 0 is [DefaultMaxSize]
	Name    string // for progress and errors; "" is the last element of the URL

	// From is the URL of the registry that named URL, and "" if the user did. A
	// registry out in the world may not send us to the user's own network or
	// disk.
	From string
}

// DefaultMaxSize bounds a download, in bytes, that names no size of its own.
const DefaultMaxSize = 1 << 30

// ProgressFunc is told how many bytes of how many have arrived, from the
// calling goroutine, about ten times a second and at the end. Total is -1
// where the server does not say.
type ProgressFunc func(done, total int64)

// Blob returns the path of a file with the source's digest, downloading it if
// it is not in the cache. Cached says that it was. Nothing is kept that does
// not have the digest: that is a *[DigestError]. Several callers that want
// the same blob cause one download. The file is read-only and stays until it
// is removed by Prune or Clear.
func (c *Cache) Blob(ctx context.Context, src Source, progress ProgressFunc) (path string, cached bool, err error) {
	r, err := src.request()
	if err != nil {
		return "", false, err
	}
	path = filepath.Join(c.root, Blobs, src.Digest.Algorithm, src.Digest.Hex[:2], src.Digest.Hex)
	if c.checkBlob(path, src.Digest) == nil {
		return path, true, nil
	}
	unlock, err := c.lock(ctx, blobLock(src.Digest))
	if err != nil {
		return "", false, err
	}
	defer unlock()
	if c.checkBlob(path, src.Digest) == nil {
		return path, true, nil
	}
	if c.offline && r.url.Scheme != "file" {
		return "", false, fmt.Errorf("fetch %s: %w", r.name, ErrOffline)
	}
	tmp, err := c.tempDir("blob")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", false, storageError("create", filepath.Dir(path), err)
	}
	fresh := filepath.Join(tmp, "new")
	err = c.net.fetch(ctx, r, func(a answer) error { return src.save(fresh, a, r.name, progress) })
	if err != nil {
		return "", false, err
	}
	if err := replace(fresh, path); err != nil {
		return "", false, err
	}
	return path, false, errors.Join(syncDir(filepath.Dir(path)), c.checkBlob(path, src.Digest))
}

// save writes what comes to a file, which is complete and on the disk when
// there is no error.
func (s *Source) save(path string, a answer, name string, progress ProgressFunc) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return storageError("create", path, err)
	}
	err = s.receive(f, a, name, progress)
	if err == nil {
		err = storageError("sync", path, f.Sync())
	}
	if cerr := f.Close(); err == nil {
		err = storageError("write", path, cerr)
	}
	return err
}

// replace puts a finished file in its place, for reading only. Windows does not
// replace a file that is for reading only.
func replace(fresh, path string) error {
	if err := os.Chmod(fresh, 0o444); err != nil {
		return storageError("chmod", fresh, err)
	}
	if runtime.GOOS == "windows" {
		_ = os.Remove(path)
	}
	return storageError("rename", path, os.Rename(fresh, path))
}

func blobLock(d Digest) string { return "blob-" + d.Algorithm + "-" + d.Hex }

// errNoDigest refuses a source that could not be verified.
var errNoDigest = errors.New("no digest to verify it by")

// request checks the source before anything is done for it.
func (s *Source) request() (request, error) {
	u, err := parseURL(s.URL)
	if err != nil {
		return request{}, fmt.Errorf("fetch %s: %w", s.Name, err)
	}
	name := s.Name
	if name == "" {
		name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	}
	if s.Digest == (Digest{}) {
		return request{}, fmt.Errorf("fetch %s: %w", name, errNoDigest)
	}
	if err := s.Digest.check(); err != nil {
		return request{}, fmt.Errorf("fetch %s: %w", name, err)
	}
	if s.MaxSize < 0 {
		return request{}, fmt.Errorf("fetch %s: a size limit of %d bytes", name, s.MaxSize)
	}
	r := request{name: name, url: u, raw: true}
	if s.From != "" {
		if r.from, err = parseURL(s.From); err != nil {
			return request{}, fmt.Errorf("fetch %s: %w", name, err)
		}
	}
	return r, nil
}

// checkBlob compares the blob with its digest, once per process and change.
func (c *Cache) checkBlob(path string, want Digest) error {
	now, err := stampOf(path)
	if err != nil {
		return err
	}
	if c.seen.has(path, path, now) {
		return nil
	}
	if !now.info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", errDamaged, path)
	}
	got, _, err := digestFile(want.Algorithm, path)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: %s has %s", errDamaged, path, got)
	}
	c.seen.verified(path, path, now, nil)
	return nil
}

// receive copies the answer to w, and fails unless it is what was wanted.
func (s *Source) receive(w io.Writer, a answer, name string, progress ProgressFunc) error {
	limit := s.MaxSize
	if limit == 0 {
		limit = DefaultMaxSize
	}
	if a.size > limit {
		return &SizeError{Name: name, Max: limit}
	}
	d := &download{w: w, h: newHash(s.Digest.Algorithm), total: a.size, progress: progress}
	// The writer comes last, so that an error which is not a StorageError is
	// the network's.
	n, err := io.Copy(d, io.LimitReader(a.body, limit+1))
	if err != nil {
		return err
	}
	if n > limit {
		return &SizeError{Name: name, Max: limit}
	}
	if a.size >= 0 && n != a.size {
		return fmt.Errorf("%d bytes of %d: %w", n, a.size, io.ErrUnexpectedEOF)
	}
	got := sumOf(s.Digest.Algorithm, d.h)
	if got != s.Digest {
		return &DigestError{Name: name, URL: safeURL(a.url), Want: s.Digest, Got: got, Size: n, HTML: d.looksHTML(a.header)}
	}
	d.report(true)
	return nil
}

// download counts, hashes and writes what arrives.
type download struct {
	w        io.Writer
	h        hash.Hash
	done     int64
	total    int64
	head     []byte // the first bytes, to see what they look like
	progress ProgressFunc
	reported time.Time
}

func (d *download) Write(p []byte) (int, error) {
	if room := 512 - len(d.head); room > 0 {
		d.head = append(d.head, p[:min(room, len(p))]...)
	}
	d.h.Write(p)
	n, err := d.w.Write(p)
	d.done += int64(n)
	if err != nil {
		return n, storageError("write", "download", err)
	}
	d.report(false)
	return n, nil
}

// progressEvery is how often progress is told.
const progressEvery = 100 * time.Millisecond

func (d *download) report(last bool) {
	if d.progress == nil {
		return
	}
	now := time.Now()
	if last || now.Sub(d.reported) >= progressEvery {
		d.reported = now
		d.progress(d.done, d.total)
	}
}

func (d *download) looksHTML(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(http.DetectContentType(d.head), "text/html")
}
