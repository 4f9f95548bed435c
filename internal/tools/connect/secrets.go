package connect

import (
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"coderunner/internal/tools/config"
)

// minSecret is how long a value is, in bytes, that is taken for a secret.
const minSecret = 8

// Secrets are values that nobody but their server may see: those of its environment and its
// headers, of variables that its configuration names, and tokens. A path that begins with a slash, a URL without a user, and what is
// shorter than eight bytes are none. Its methods are safe for concurrent use.
type Secrets struct {
	mu    sync.Mutex
	names map[string]string // by value
	with  atomic.Pointer[strings.Replacer]
}

// Redact returns a text without the values.
func (s *Secrets) Redact(text string) string {
	if r := s.with.Load(); r != nil {
		return r.Replace(text)
	}
	return text
}

func (s *Secrets) addServer(c config.Server) {
	for _, values := range []map[string]string{c.Env, c.Secrets, c.Credentials} {
		for name, value := range values {
			s.Add(name, value)
		}
	}
	for name, value := range c.Headers {
		s.Add(name, value)
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
			s.Add(name, token)
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			s.Add("password", password)
		}
		for name, values := range u.Query() {
			for _, value := range values {
				s.Add(name, value)
			}
		}
	}
}

// Add adds a value, under the name that stands in its place.
func (s *Secrets) Add(name, value string) {
	if u, err := url.Parse(value); len(value) < minSecret || filepath.IsAbs(value) || err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]string{}
	}
	if _, known := s.names[value]; known {
		return
	}
	s.names[value] = name
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Keys(s.names), func(a, b string) int { return len(b) - len(a) }) { // the longer first, of which another may be a part
		with := "[secret " + s.names[value] + "]"
		pairs = append(pairs, value, with)
		if text, err := json.Marshal(value); err == nil && string(text[1:len(text)-1]) != value {
			pairs = append(pairs, string(text[1:len(text)-1]), with)
		}
	}
	s.with.Store(strings.NewReplacer(pairs...))
}
