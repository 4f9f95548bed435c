package deps

import (
	"encoding/json"
	"errors"
	"path"
	"strings"
	"unicode/utf8"

	"coderunner/internal/fetch"
	"coderunner/internal/lazyregexp"
	"coderunner/internal/order"
	"coderunner/runners/deno/jsparse"
)

// Info is the part of the answer of "deno info --json" that we read.
type Info struct {
	Roots   []string `json:"roots"`
	Modules []struct {
		Specifier    string `json:"specifier"`
		Error        string `json:"error"`
		Dependencies []struct {
			Specifier string    `json:"specifier"`
			Code      *Location `json:"code"`
			Type      *Location `json:"type"`
			Dynamic   bool      `json:"isDynamic"`
		} `json:"dependencies"`
	} `json:"modules"`
}

// Location is where a module imports another. Lines and characters are counted
// from zero.
type Location struct {
	Span struct{ Start, End Position } `json:"span"`
}

// Position is a position in a file.
type Position struct{ Line, Character int }

// ParseInfo reads the answer of "deno info --json".
func ParseInfo(b []byte) (*Info, error) {
	var i Info
	if err := json.Unmarshal(b, &i); err != nil {
		return nil, err
	}
	return &i, nil
}

// Errors returns the errors of modules by specifier.
func (i *Info) Errors() map[string]string {
	wrong := map[string]string{}
	for _, m := range i.Modules {
		if m.Error != "" {
			wrong[m.Specifier] = m.Error
		}
	}
	return wrong
}

// literal is a specifier in a source, between quotes.
type literal struct {
	Start, End int // byte offsets, without the quotes
	Specifier  string
}

// Literals returns the import specifiers of the root module, whose text is source,
// that may be replaced: not those in require() or comments, or with escapes. Deno
// reports one occurrence per specifier and kind.
func (i *Info) Literals(source string) (list []literal, err error) {
	for _, m := range i.Modules {
		if len(i.Roots) == 0 || m.Specifier != i.Roots[0] {
			continue
		}
		if m.Error != "" {
			message, _, _ := strings.Cut(m.Error, "\n")
			return nil, errors.New(message)
		}
		lines := lineStarts(source)
		for _, d := range m.Dependencies {
			for _, at := range []*Location{d.Code, d.Type} {
				if at == nil {
					continue
				}
				start, end := lines.offset(source, at.Span.Start), lines.offset(source, at.Span.End)
				if start < 0 || end < start+2 {
					continue
				}
				quoted := source[start:end]
				if quoted != `"`+d.Specifier+`"` && quoted != "'"+d.Specifier+"'" {
					continue
				}
				before := strings.TrimRight(source[:start], " \t\r\n")
				call := strings.TrimRight(strings.TrimSuffix(before, "("), " \t\r\n")
				if strings.HasSuffix(before, "=") || call != before && strings.HasSuffix(call, "require") {
					continue
				}
				list = append(list, literal{start + 1, end - 1, d.Specifier})
			}
		}
	}
	order.By(list, func(a, b literal) int { return a.Start - b.Start })
	return list, nil
}

// Imports returns what the root module imports.
func (i *Info) Imports() (list []jsparse.Import) {
	for _, m := range i.Modules {
		if len(i.Roots) == 0 || m.Specifier != i.Roots[0] {
			continue
		}
		for _, d := range m.Dependencies {
			list = append(list, jsparse.Import{Specifier: d.Specifier, Static: d.Code != nil && !d.Dynamic})
		}
	}
	return list
}

// lines are the offsets at which the lines of a source begin.
type lines []int

func lineStarts(source string) lines {
	l := lines{len(source) - len(strings.TrimPrefix(source, "\ufeff"))}
	for i := range len(source) {
		if source[i] == '\n' {
			l = append(l, i+1)
		}
	}
	return l
}

// offset returns the byte offset of a position, whose characters are code points,
// -1 if there is none.
func (l lines) offset(source string, p Position) int {
	if p.Line < 0 || p.Line >= len(l) {
		return -1
	}
	at := l[p.Line]
	for n := p.Character; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(source[at:])
		if size == 0 {
			return -1
		}
		at += size
	}
	return at
}

// jsrManifest matches the address of JSR's manifest of a version.
var jsrManifest = lazyregexp.New(`/(@[^/]+/[^/]+)/([^/]+)_meta\.json$`)

// PackageOf returns the package of a download as NAME@VERSION, else the address.
func PackageOf(address string) string {
	if m := jsrManifest.FindStringSubmatch(address); m != nil {
		return m[1] + "@" + m[2]
	}
	before, file, ok := strings.Cut(address, "/-/")
	if !ok || !strings.HasSuffix(file, ".tgz") {
		return fetch.WithoutUser(address)
	}
	base := path.Base(before)
	name := base
	if scope := path.Base(path.Dir(before)); strings.HasPrefix(scope, "@") {
		name = scope + "/" + base
	}
	version := strings.TrimPrefix(strings.TrimSuffix(path.Base(file), ".tgz"), base+"-")
	return name + "@" + version
}
