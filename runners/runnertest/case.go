package runnertest

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"coderunner/runners"
)

//go:embed testdata/*.txtar
var promises embed.FS

// Case is one promise. The exported fields with a JSON name are those of
// case.json.
type Case struct {
	Name, Promise string `json:"-"`

	TimeoutMS int                 `json:"timeout_ms"`
	Memory    int64               `json:"memory"`    // bytes
	Output    int64               `json:"output"`    // bytes
	WithinMS  int                 `json:"within_ms"` // how long the run may take in all
	Filename  map[string]string   `json:"filename"`  // by section name: py, ts, js
	Packages  map[string][]string `json:"packages"`  // likewise
	Network   bool                `json:"network"`
	Differs   bool                `json:"differs"` // the result is another each time
	Slow      bool                `json:"slow"`    // a default run may leave it out
	Tools     bool                `json:"tools"`   // it has those of NewTools

	// HostMemory is by how many bytes the process that runs the program may
	// grow. Only a test that starts one can tell.
	HostMemory int64 `json:"host_memory"`

	sections map[string]string
}

// suffixes are the section names of each language, the best first.
var suffixes = map[runners.Language][]string{
	runners.Python:     {"py"},
	runners.TypeScript: {"ts"},
	runners.JavaScript: {"js", "ts"},
	runners.Bash:       {"sh"},
	runners.Ruby:       {"rb"},
	runners.PHP:        {"php"},
	runners.Perl:       {"pl"},
	runners.QuickJS:    {"qjs"},
}

// Parse reads a case in the format of the package comment.
func Parse(name string, data []byte) (*Case, error) {
	a := txtar.Parse(data)
	c := &Case{Name: name, Promise: strings.TrimSpace(string(a.Comment)), sections: map[string]string{}}
	var filename string
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "main.") {
			f.Name, filename = "ts", f.Name
		}
		if _, ok := c.sections[f.Name]; ok {
			return nil, fmt.Errorf("section %s occurs twice", f.Name)
		}
		if !knownSection(f.Name) {
			return nil, fmt.Errorf("section %s is not known", f.Name)
		}
		c.sections[f.Name] = string(f.Data)
	}
	if text, ok := c.sections["case.json"]; ok {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(c); err != nil {
			return nil, fmt.Errorf("case.json: %w", err)
		}
	}
	if filename != "" {
		c.Filename = map[string]string{"ts": filename}
	}
	if c.Promise == "" {
		return nil, fmt.Errorf("the comment has no promise")
	}
	if c.sections["want.json"] == "" && c.sections["want.py.json"] == "" {
		return nil, fmt.Errorf("nothing is wanted")
	}
	return c, nil
}

func knownSection(name string) bool {
	switch name {
	case "stdin", "args", "case.json", "want.json":
		return true
	}
	language := strings.TrimPrefix(name, "before.")
	if of, ok := strings.CutPrefix(name, "want."); ok {
		language = strings.TrimSuffix(of, ".json")
	}
	for _, names := range suffixes {
		if slices.Contains(names, language) {
			return true
		}
	}
	return strings.HasPrefix(name, "files/")
}

// section returns the best section of a language with the prefix and suffix
// around its name.
func (c *Case) section(l runners.Language, before, after string) (string, bool) {
	for _, s := range suffixes[l] {
		if text, ok := c.sections[before+s+after]; ok {
			return text, true
		}
	}
	return "", false
}

func (c *Case) program(l runners.Language) (string, bool) {
	text, ok := c.section(l, "", "")
	return unescape(text), ok
}

func (c *Case) before(l runners.Language) (string, bool) {
	text, ok := c.section(l, "before.", "")
	return unescape(text), ok
}

// Languages returns those that have a program of their own.
func (c *Case) Languages() []runners.Language {
	var all []runners.Language
	for l, names := range suffixes {
		if _, ok := c.sections[names[0]]; ok {
			all = append(all, l)
		}
	}
	slices.Sort(all)
	return all
}

// unescape replaces ⟦hex⟧ by the bytes, since txtar files are text, and ⟦N*text⟧
// by N times the text. A file's last newline is dropped by ⟦⟧.
func unescape(text string) string {
	text = strings.ReplaceAll(text, "⟦⟧\n", "")
	for {
		before, rest, ok := strings.Cut(text, "⟦")
		if !ok {
			return text
		}
		hex, after, ok := strings.Cut(rest, "⟧")
		if !ok {
			return text
		}
		if times, repeated, ok := strings.Cut(hex, "*"); ok {
			n, err := strconv.Atoi(times)
			if err != nil || n > 1<<22 {
				panic("runnertest: bad escape " + hex)
			}
			text = before + strings.Repeat(repeated, n) + after
			continue
		}
		var b []byte
		for i := 0; i+1 < len(hex); i += 2 {
			n, err := strconv.ParseUint(hex[i:i+2], 16, 8)
			if err != nil {
				panic("runnertest: bad escape " + hex)
			}
			b = append(b, byte(n))
		}
		text = before + string(b) + after
	}
}

// Request returns the case as a request in one of its languages.
func (c *Case) Request(l runners.Language) runners.Request {
	code, _ := c.program(l)
	req := runners.Request{
		Language: l,
		Code:     code,
		Stdin:    strings.NewReader(unescape(c.sections["stdin"])),
		Limits: runners.Limits{
			Timeout: time.Duration(c.TimeoutMS) * time.Millisecond,
			Memory:  c.Memory,
			Output:  c.Output,
		},
	}
	if c.Tools {
		req.Tools = NewTools()
	}
	for _, s := range suffixes[l] {
		if req.Packages == nil {
			req.Packages = c.Packages[s]
		}
		req.Filename = cmp.Or(req.Filename, c.Filename[s])
	}
	if args := strings.TrimSuffix(c.sections["args"], "\n"); args != "" {
		req.Args = strings.Split(unescape(args), "\n")
	}
	for name, text := range c.sections {
		if p, ok := strings.CutPrefix(name, "files/"); ok {
			req.Files = append(req.Files, runners.File{Path: p, Data: []byte(unescape(text))})
		}
	}
	return req
}

// want returns what is wanted in a language: want.json with the language's own
// fields over it.
func (c *Case) want(l runners.Language) (any, error) {
	base, err := decode(c.sections["want.json"])
	if err != nil {
		return nil, fmt.Errorf("want.json: %w", err)
	}
	text, ok := c.section(l, "want.", ".json")
	if !ok {
		return base, nil
	}
	own, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("want of %s: %w", l, err)
	}
	return merge(base, own), nil
}

func decode(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

// merge lays over on base, object by object. A comparison such as
// {"contains": …} replaces what it is laid on.
func merge(base, over any) any {
	b, okB := base.(map[string]any)
	o, okO := over.(map[string]any)
	if !okB || !okO || isMatcher(b) || isMatcher(o) {
		return over
	}
	out := map[string]any{}
	maps.Copy(out, b)
	for k, v := range o {
		if old, ok := out[k]; ok {
			v = merge(old, v)
		}
		out[k] = v
	}
	return out
}

// isMatcher reports whether m is a comparison, not an object to compare with.
func isMatcher(o map[string]any) bool {
	for k := range o {
		if k != "contains" && k != "not" {
			return false
		}
	}
	return len(o) > 0
}
