package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"coderunner/internal/lazyregexp"
)

// ParseURL accepts http, https and file URLs. Its error does not repeat the
// text, which may hold a password.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed")
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return nil, fmt.Errorf("URL %s: no host", safeURL(u))
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
			return nil, fmt.Errorf("URL %s: want file:///path", safeURL(u))
		}
	default:
		return nil, fmt.Errorf("URL %s: want https, http or file", safeURL(u))
	}
	return u, nil
}

// safeURL returns u without its possibly secret parts: user, password, query,
// fragment.
func safeURL(u *url.URL) string {
	if u == nil {
		return "(no URL)"
	}
	clean := *u
	clean.User, clean.RawQuery, clean.ForceQuery = nil, "", false
	clean.Fragment, clean.RawFragment, clean.Opaque = "", "", ""
	s := clean.String()
	if u.Opaque != "" { // user:password@host has the scheme user
		s = "(a URL)"
	}
	if u.RawQuery != "" {
		s += "?…"
	}
	return s
}

// WithoutUser returns raw without userinfo, "" if it cannot be parsed.
func WithoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

// addresses matches URLs, and user:password@host without a scheme, as in proxy
// variables.
var addresses = lazyregexp.New(`[^\s"']*(?:://|@)[^\s"']*`)

// redacted is another package's error with the secrets of URLs in its text removed.
type redacted struct{ err error }

func (e *redacted) Error() string {
	return addresses.ReplaceAllStringFunc(e.err.Error(), func(address string) string {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return "(a URL)"
		}
		return safeURL(u)
	})
}

// Unwrap returns nil for a network timeout. It is not unwrapped: it matches
// context.DeadlineExceeded, which callers take for their own ctx.
func (e *redacted) Unwrap() error {
	if errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, context.Canceled) {
		return nil
	}
	return e.err
}
