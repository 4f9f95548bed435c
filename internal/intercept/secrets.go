package intercept

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/netpolicy"
)

// Secrets are values that programs use and do not see. A nil Secrets has none.
type Secrets struct {
	list     []secret
	replacer *strings.Replacer // from values to placeholders
	longest  int               // of what it replaces, in bytes
}

// secret is one, with the hosts that it is for.
type secret struct {
	name, value string
	placeholder string // none is the beginning of another
	host        string
	port        uint16
	bodies      bool // it is put into bodies, too
}

// minSecret is the least length of a value, in bytes: shorter ones are in other
// text by chance.
const minSecret = 8

var validName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// inBodies ends the item of a secret that is put into bodies, too.
const inBodies = "+body"

// ParseSecrets parses a list as NAME=host[:port][+body],NAME=host. The port is 443 unless
// it is there. Lookup finds the values, as os.LookupEnv does. What stands for a value in
// texts is no placeholder of a program: see [Secrets.begin].
func ParseSecrets(list string, lookup func(string) (string, bool)) (*Secrets, error) {
	s := &Secrets{}
	for item := range strings.SplitSeq(list, ",") {
		name, host, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || name == "" || host == "" {
			return nil, fmt.Errorf("%q is not NAME=host, as in API_KEY=api.example.com", item)
		}
		if !validName.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a variable", name)
		}
		host, bodies := strings.CutSuffix(host, inBodies)
		at, port, hasPort := strings.Cut(host, ":")
		number := uint64(443)
		if hasPort {
			var err error
			if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
				return nil, fmt.Errorf("%s: %q is not a port", name, port)
			}
		}
		if _, err := netpolicy.Parse(false, []string{at}, false, nil); err != nil || strings.ContainsAny(at, "*/") {
			return nil, fmt.Errorf("%s: %q is not the name or address of one host", name, at)
		}
		value, _ := lookup(name)
		if value == "" {
			return nil, fmt.Errorf("%s: the server's environment does not have it", name)
		}
		if len(value) < minSecret || strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("%s: its value is shorter than %d bytes or has a line's end, so it cannot be kept apart from other text", name, minSecret)
		}
		s.list = append(s.list, secret{name, value, shown(name), strings.ToLower(strings.TrimSuffix(at, ".")), uint16(number), bodies})
	}
	if len(s.list) == 0 {
		return nil, errors.New("there is none")
	}
	s.index()
	return s, nil
}

// shown is what stands for a secret in what a program prints.
func shown(name string) string { return "coderunner-secret-" + name }

// begin returns the secrets for one program, with placeholders that nobody else knows:
// those of an earlier program, where it had one, else random ones.
func (s *Secrets) begin(was map[string]string) *Secrets {
	if s == nil {
		return nil
	}
	own := &Secrets{list: slices.Clone(s.list)}
	for i, x := range own.list {
		own.list[i].placeholder = shown(x.name) + "-" + strings.ToLower(rand.Text())
		if p := was[x.name]; validPlaceholder.MatchString(p) && strings.HasPrefix(p, shown(x.name)+"-") {
			own.list[i].placeholder = p
		}
	}
	own.index()
	return own
}

// validPlaceholder matches what begin makes.
var validPlaceholder = lazyregexp.New(`-[a-z2-7]{26}$`)

// index makes the replacer.
func (s *Secrets) index() {
	pairs := s.pairs()
	s.replacer = strings.NewReplacer(pairs...)
	for i := 0; i < len(pairs); i += 2 {
		s.longest = max(s.longest, len(pairs[i]))
	}
}

// pairs returns what is redacted and what stands for it: a value, what it is in a
// URL and in JSON, and in the middle of base64, at each of three places.
func (s *Secrets) pairs() (pairs []string) {
	seen := map[string]bool{}
	add := func(from, to string) {
		if len(from) >= minSecret && !seen[from] {
			seen[from] = true
			pairs = append(pairs, from, to)
		}
	}
	for _, x := range s.list {
		for _, form := range forms(x.value) {
			add(form, x.placeholder)
		}
		for shift := range 3 {
			// Three bytes become four characters. The first and the last depend on
			// what is around.
			text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + x.value))
			core := text[[3]int{0, 2, 3}[shift] : (shift+len(x.value))/3*4]
			if len(core) >= 2*minSecret-4 {
				add(core, x.placeholder)
				add(strings.NewReplacer("+", "-", "/", "_").Replace(core), x.placeholder)
			}
		}
	}
	return pairs
}

// forms returns a value as it is in text, in a URL's query and path, and in JSON.
func forms(value string) []string {
	quoted, _ := json.Marshal(value) // a string always marshals
	return []string{value, url.QueryEscape(value), url.PathEscape(value), string(quoted[1 : len(quoted)-1])}
}

func (s *Secrets) environment() map[string]string {
	env := map[string]string{}
	if s != nil {
		for _, x := range s.list {
			env[x.name] = x.placeholder
		}
	}
	return env
}

// has reports whether there is a secret for a host and port.
func (s *Secrets) has(host string, port uint16) bool {
	return s != nil && slices.ContainsFunc(s.list, func(x secret) bool { return x.host == host && x.port == port })
}

// Redact replaces the secrets in a text. A nil Secrets leaves it.
func (s *Secrets) Redact(text string) string {
	if s == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// fill puts the secrets of a host into the header and URL of a request, and those that
// are for bodies into the body, which is given.
func (s *Secrets) fill(req *http.Request, body []byte, host string, port uint16) []byte {
	if s == nil {
		return body
	}
	form := 0 // of the body's text
	switch kind := req.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		form = 1
	case strings.Contains(kind, "json"):
		form = 3
	}
	var plain, query, path, inside []string
	for _, x := range s.list {
		if x.host != host || x.port != port {
			continue
		}
		f := forms(x.value)
		plain = append(plain, x.placeholder, f[0])
		query = append(query, x.placeholder, f[1])
		path = append(path, x.placeholder, f[2])
		if x.bodies {
			inside = append(inside, x.placeholder, f[form])
		}
	}
	if plain == nil {
		return body
	}
	replace := strings.NewReplacer(plain...).Replace
	for _, values := range req.Header {
		for i, v := range values {
			values[i] = fillHeader(v, replace)
		}
	}
	target := req.URL.RequestURI()
	before, after, _ := strings.Cut(target, "?")
	target = strings.NewReplacer(path...).Replace(before)
	if after != "" {
		target += "?" + strings.NewReplacer(query...).Replace(after)
	}
	req.URL = &url.URL{Opaque: target}
	if inside == nil {
		return body
	}
	return []byte(strings.NewReplacer(inside...).Replace(string(body)))
}

// fillHeader puts secrets into the value of a header, also within the base64 of
// Basic authentication.
func fillHeader(value string, replace func(string) string) string {
	if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "basic") {
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil {
			return scheme + " " + base64.StdEncoding.EncodeToString([]byte(replace(string(text))))
		}
	}
	return replace(value)
}
