package clients

import (
	"bytes"
	"encoding/json"
	"strings"
)

// server is the name of our entry.
const server = "coderunner"

// field is a line of an entry. Values are strings, lists of them, numbers and
// booleans, and in JSON tables of strings.
type field struct {
	key    string
	value  any
	launch bool // also set in an entry that is there already
}

// inline renders a value as JSON, which is also TOML and YAML for the values of
// fields.
func inline(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // of strings, numbers and booleans
	return strings.ReplaceAll(strings.TrimSpace(b.String()), `","`, `", "`)
}

// lineEnd returns how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// withLineEnd returns the text with a line end, unless it is empty.
func withLineEnd(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(bytes.Clone(text), lineEnd(text)...)
	}
	return text
}
