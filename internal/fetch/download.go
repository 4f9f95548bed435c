package fetch

import (
	"cmp"
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

// Source is the address of a download and the digest it must have.
type Source struct {
	URL     string // https, http or file
	Digest  cache.Digest
	MaxSize int64  // bytes; 0 is [DefaultMaxSize]
	Name    string // for progress and errors; "" is the last element of the URL

	// From is the URL of the registry that named URL, "" if the user did. A
	// public registry may not send us to the user's own network or disk.
	From string
}

// DefaultMaxSize is the maximum size, in bytes, of a download without a MaxSize.
const DefaultMaxSize = 1 << 30

// ProgressFunc is called with the bytes received and the total, from the calling
// goroutine, about ten times a second and at the end. Total is -1 if the server
// does not announce it.
type ProgressFunc func(done, total int64)

// Blob returns the path of a file with the source's digest, downloading it if
// it is not in the cache. Cached reports that it was. A download with another
// digest is a *[DigestError] and is not kept. Concurrent callers for the same
// blob share one download.
func (c *Client) Blob(ctx context.Context, src Source, progress ProgressFunc) (path string, cached bool, err error) {
	r, err := src.request()
	if err != nil {
		return "", false, err
	}
	return c.cache.Blob(ctx, src.Digest, func(ctx context.Context, f *os.File) error {
		return c.download(ctx, src, r, f, progress)
	})
}

// download writes the source to f. Each attempt truncates f first.
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

// errNoDigest is the error for a source that could not be verified.
var errNoDigest = errors.New("no digest to verify it by")

// request checks the source and returns the request for it.
func (s *Source) request() (request, error) {
	u, err := ParseURL(s.URL)
	if err != nil {
		return request{}, fmt.Errorf("fetch %s: %w", s.Name, err)
	}
	name := cmp.Or(s.Name, u.Path[strings.LastIndexByte(u.Path, '/')+1:])
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

// receive copies the answer to w and checks its size and digest.
func (s *Source) receive(w io.Writer, a answer, name string, progress ProgressFunc) error {
	limit := cmp.Or(s.MaxSize, DefaultMaxSize)
	if a.size > limit {
		return &SizeError{Name: name, Max: limit}
	}
	d := &receiver{w: w, h: s.Digest.NewHash(), total: a.size, progress: progress}
	// The writer wraps its errors, so an error that is not a StorageError is the
	// network's.
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
		return &DigestError{URL: safeURL(a.url), Want: s.Digest, Got: got, Size: n, HTML: d.looksHTML(a.header)}
	}
	d.report(true)
	return nil
}

// receiver counts, hashes and writes the bytes of a download.
type receiver struct {
	w        io.Writer
	h        hash.Hash
	done     int64
	total    int64
	head     []byte // the first bytes, for looksHTML
	progress ProgressFunc
	reported time.Time
}

func (d *receiver) Write(p []byte) (int, error) {
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

// progressEvery is the interval of progress reports.
const progressEvery = 100 * time.Millisecond

func (d *receiver) report(last bool) {
	if d.progress == nil {
		return
	}
	now := time.Now()
	if last || now.Sub(d.reported) >= progressEvery {
		d.reported = now
		d.progress(d.done, d.total)
	}
}

func (d *receiver) looksHTML(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(http.DetectContentType(d.head), "text/html")
}

// Response is a fetched document.
type Response struct {
	Header http.Header
	Body   []byte
	URL    string // after redirects, the base of relative links; it may contain a password
}

// Get fetches a small document such as an index page, of at most max bytes after
// decompression, and does not cache it. An unsuccessful status is an
// *[HTTPError], a longer document a *[SizeError]. The header, which may be nil,
// is sent with the request. A file URL reads a file, or a directory's index.html.
func (c *Client) Get(ctx context.Context, url string, header http.Header, max int64) (*Response, error) {
	u, err := ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	r := request{name: safeURL(u), url: u, header: header}
	if c.offline && u.Scheme != "file" {
		return nil, fmt.Errorf("fetch %s: %w", r.name, ErrOffline)
	}
	limited, cancel := context.WithTimeout(ctx, c.getTimeout)
	defer cancel()
	var resp *Response
	err = c.fetch(limited, r, func(a answer) error {
		if a.size > max {
			return &SizeError{Name: r.name, Max: max}
		}
		body, err := io.ReadAll(io.LimitReader(a.body, max+1))
		if err != nil {
			return err
		}
		if int64(len(body)) > max {
			return &SizeError{Name: r.name, Max: max}
		}
		resp = &Response{Header: a.header, Body: body, URL: a.url.String()}
		return nil
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		// Not a context's error: the caller's own ctx is not done.
		err = fmt.Errorf("fetch %s: no answer within %v%s", r.name, c.getTimeout, reachHint)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}
