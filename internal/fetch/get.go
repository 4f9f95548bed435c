package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Response is a document that was fetched.
type Response struct {
	Status int // 2xx, or 304 when the request was a conditional one
	Header http.Header
	Body   []byte
	URL    string // where it came from, after redirects: relative links start here. It may hold a password
}

// Get fetches a small document such as an index page, of max bytes at most
// after decompression. It is not kept. A status that is not a success is an
// *[HTTPError], a longer document a *[SizeError]. The header, which may be
// nil, is sent along. A file URL reads a file, or a folder's index.html.
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
		// Not the error of a context: the caller's own is alive.
		err = fmt.Errorf("fetch %s: no answer within %v%s", r.name, c.getTimeout, reachHint)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}
