package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
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

// safeURL is u without what may be secret: user, password, query, fragment.
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

// WithoutUser returns a URL without its name and password. It is empty if it
// cannot be parsed, for then nobody knows where those are.
func WithoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

// addresses are the parts of a text that may be a URL, or one with a password
// that lacks its scheme, as variables that name a proxy may.
var addresses = regexp.MustCompile(`[^\s"']*(?:://|@)[^\s"']*`)

// redacted is an error of another package, whose text may have URLs in it.
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

// Unwrap returns nil for a time-out of the network: it says of itself that it is
// context.DeadlineExceeded, which callers take for the end of their own context.
func (e *redacted) Unwrap() error {
	if errors.Is(e.err, context.DeadlineExceeded) || errors.Is(e.err, context.Canceled) {
		return nil
	}
	return e.err
}
