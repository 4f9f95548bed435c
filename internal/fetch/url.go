package fetch

import (
	"errors"
	"fmt"
	"net/url"
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
	clean.Fragment, clean.RawFragment = "", ""
	s := clean.String()
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
