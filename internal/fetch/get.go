package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Response is a fetched document.
type Response struct {
	Status int // 2xx, or 304 after a conditional request
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
		resp = &Response{Status: a.status, Header: a.header, Body: body, URL: a.url.String()}
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
