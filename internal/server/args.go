package server

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"coderunner/internal/notebook"
	"coderunner/internal/session"
	"coderunner/runners"
)

// maxStdin is how long the argument stdin may be, in bytes. The bounds of the
// other arguments are those of [runners.Request.Check].
const maxStdin = 16 << 20

// arguments reads a call's arguments one by one and keeps the first error.
type arguments struct {
	raw  map[string]json.RawMessage
	data func(uri string) ([]byte, bool) // of a resource of this server
	err  error
}

// programCall is what a call of run_code asks for.
type programCall struct {
	session.Call
	cells notebook.Cells // of the notebook whose code it runs, nil for any other program
}

// only refuses arguments that a tool does not have.
func (a *arguments) only(properties object) {
	for _, name := range slices.Sorted(maps.Keys(a.raw)) {
		if properties[name] == nil {
			a.fail(runners.Clip(name, 100), "is not an argument; there are %s.", strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
		}
	}
}

// integer returns a number that is not negative, 0 if it is absent.
func (a *arguments) integer(name string) (n int) {
	raw := a.get(name)
	if raw != nil && (json.Unmarshal(raw, &n) != nil || n < 0) {
		a.fail(name, "must be a whole number, not negative.")
		return 0
	}
	return n
}

func (a *arguments) boolean(name string) (b bool) {
	if raw := a.get(name); raw != nil && json.Unmarshal(raw, &b) != nil {
		a.fail(name, "must be true or false, but it is %s.", kind(raw))
	}
	return b
}

// get returns an argument, or nil when it is absent, null or after an error.
func (a *arguments) get(name string) json.RawMessage {
	raw := a.raw[name]
	if a.err != nil || string(raw) == "null" {
		return nil
	}
	return raw
}

func (a *arguments) fail(name, format string, args ...any) {
	if a.err == nil {
		a.err = runners.BadArgument(name, format, args...)
	}
}

func (a *arguments) text(name string) string {
	raw := a.get(name)
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		a.fail(name, "must be a string, but it is %s.", kind(raw))
	}
	return s
}

func (a *arguments) stdin() io.Reader {
	text := a.text("stdin")
	if len(text) > maxStdin {
		a.fail("stdin", `is %d bytes long; at most %d are taken, so pass data in "files".`, len(text), maxStdin)
	}
	return strings.NewReader(text)
}

// language returns the language that the argument names, or else the notebook, or
// else the one that the code shows.
func (a *arguments) language(offered map[runners.Language]runners.Runner, code, notebook string) runners.Language {
	name := cmp.Or(a.text("language"), notebook)
	l := runners.ParseLanguage(name)
	if name == "" {
		l = runners.Detect(code)
	}
	switch list := strings.Join(names(offered), ", "); {
	case offered[l] != nil:
	case name != "":
		a.fail("language", "is %q, but must be one of %s.", runners.Clip(name, 100), list)
	default:
		a.fail("language", "is missing, and the code does not show it: set it to one of %s.", list)
	}
	return l
}

func (a *arguments) code() string {
	if a.get("code") == nil {
		a.fail("code", "is missing: set it to the program's source text.")
	}
	return a.text("code")
}

func (a *arguments) strings(name string) []string {
	raw := a.get(name)
	if raw == nil {
		return nil
	}
	raw = unquoted(raw)
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		if one, ok := oneString(name, raw); ok {
			return one
		}
		a.fail(name, "must be an array of strings, but it is %s.", kind(raw))
	}
	out := make([]string, len(items))
	for i, item := range items {
		if name == "args" && kind(item) == "a number" {
			out[i] = string(item)
		} else if string(item) == "null" || json.Unmarshal(item, &out[i]) != nil {
			a.fail(name, "must be an array of strings, but element %d is %s.", i, kind(item))
		}
	}
	return out
}

func (a *arguments) timeout(most time.Duration) time.Duration {
	raw := a.get("timeout_seconds")
	if raw == nil {
		return 0
	}
	var s float64
	if json.Unmarshal(raw, &s) != nil {
		var ok bool
		if s, ok = secondsText(raw); !ok {
			a.fail("timeout_seconds", "must be a number of seconds, but it is %s.", kind(raw))
			return 0
		}
	}
	// Below a millisecond a limit would round to none.
	if !(s >= runners.MinTimeout.Seconds()) || s > most.Seconds() {
		a.fail("timeout_seconds", "is %v, but must be between %v and %v.", s, runners.MinTimeout.Seconds(), most.Seconds())
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

func (a *arguments) files() []runners.File {
	raw := a.get("files")
	if raw == nil {
		return nil
	}
	raw = unquoted(raw)
	items, ok := coerceFiles(raw)
	if !ok && json.Unmarshal(raw, &items) != nil {
		a.fail("files", "must be an array of {path, text}, {path, base64} or {path, uri}, but it is %s.", kind(raw))
		return nil
	}
	out := make([]runners.File, len(items))
	for i := range items {
		if out[i] = a.file(i, items[i]); a.err != nil {
			return nil
		}
	}
	return out
}

func (a *arguments) file(i int, raw json.RawMessage) (f runners.File) {
	var v struct {
		Path              *string
		Text, Base64, URI *string
	}
	d := json.NewDecoder(bytes.NewReader(coerceFile(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || v.Path == nil {
		a.fail("files", "has as element %d no object {path, text}, {path, base64} or {path, uri} of strings.", i)
		return f
	}
	f.Path = runners.CleanPath(*v.Path)
	sources := 0
	for _, s := range []*string{v.Text, v.Base64, v.URI} {
		if s != nil {
			sources++
		}
	}
	switch {
	case sources != 1:
		a.fail("files", `has %q with none or several of "text", "base64" and "uri": give one.`, runners.Clip(f.Path, 200))
	case v.Text != nil:
		f.Data = []byte(*v.Text)
	case v.URI != nil:
		var known bool
		if f.Data, known = a.data(*v.URI); !known {
			a.fail("files", `has %q with the "uri" %q, which is not a resource of this server, or no longer kept: run the program that made it again.`, runners.Clip(f.Path, 200), runners.Clip(*v.URI, 200))
		}
	default:
		data, err := decoded(*v.Base64)
		if err != nil {
			a.fail("files", `has %q with a "base64" that is not base64.`, runners.Clip(f.Path, 200))
		}
		f.Data = data
	}
	return f
}

// plainBase64 removes what the standard alphabet does not have: line ends, and the other
// two letters that URLs have.
var plainBase64 = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "")

// decoded decodes base64, perhaps without padding, or in a data: URL.
func decoded(text string) ([]byte, error) {
	if strings.HasPrefix(text, "data:") {
		if _, after, ok := strings.Cut(text, ";base64,"); ok {
			text = after
		}
	}
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(plainBase64.Replace(text), "="))
}
