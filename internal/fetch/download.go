package fetch

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"coderunner/cache"
)

// Source says where a download comes from and what it must be.
type Source struct {
	URL     string // https, http or file
	Digest  cache.Digest
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
// it is not in the cache. Cached reports that it was. Nothing is kept that does
// not have the digest: that is a *[DigestError]. Several callers that want the
// same blob cause one download.
func (c *Client) Blob(ctx context.Context, src Source, progress ProgressFunc) (path string, cached bool, err error) {
	r, err := src.request()
	if err != nil {
		return "", false, err
	}
	return c.cache.Blob(ctx, src.Digest, func(ctx context.Context, f *os.File) error {
		return c.download(ctx, src, r, f, progress)
	})
}

// download writes the source to f. An attempt that breaks off leaves nothing in
// front of the next one.
func (c *Client) download(ctx context.Context, src Source, r request, f *os.File, progress ProgressFunc) error {
	if c.offline && r.url.Scheme != "file" {
		return fmt.Errorf("fetch %s: %w", r.name, ErrOffline)
	}
	return c.fetch(ctx, r, func(a answer) error {
		_, err := f.Seek(0, io.SeekStart)
		if err == nil {
			err = f.Truncate(0)
		}
		if err != nil {
			return cache.NewStorageError("truncate", f.Name(), err)
		}
		return src.receive(f, a, r.name, progress)
	})
}

// errNoDigest refuses a source that could not be verified.
var errNoDigest = errors.New("no digest to verify it by")

// request checks the source before anything is done for it.
func (s *Source) request() (request, error) {
	u, err := ParseURL(s.URL)
	if err != nil {
		return request{}, fmt.Errorf("fetch %s: %w", s.Name, err)
	}
	name := s.Name
	if name == "" {
		name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	}
	if s.Digest == (cache.Digest{}) {
		return request{}, fmt.Errorf("fetch %s: %w", name, errNoDigest)
	}
	if err := s.Digest.Check(); err != nil {
		return request{}, fmt.Errorf("fetch %s: %w", name, err)
	}
	if s.MaxSize < 0 {
		return request{}, fmt.Errorf("fetch %s: a size limit of %d bytes", name, s.MaxSize)
	}
	r := request{name: name, url: u, raw: true}
	if s.From != "" {
		if r.from, err = ParseURL(s.From); err != nil {
			return request{}, fmt.Errorf("fetch %s: %w", name, err)
		}
	}
	return r, nil
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
	d := &download{w: w, h: s.Digest.NewHash(), total: a.size, progress: progress}
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
	got := s.Digest.Sum(d.h)
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
		return n, cache.NewStorageError("write", "download", err)
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
