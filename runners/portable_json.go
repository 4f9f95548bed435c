package runners

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Value is the value of the program's last expression. Make one with
// [NewValue].
type Value struct {
	Text string          `json:"text"`           // repr(value), Deno.inspect(value)
	JSON json.RawMessage `json:"json,omitempty"` // when the value is JSON
}

// NewValue returns the value that the guest reports as text and, unless it is
// empty, as JSON. The program may have forged both: the text is cut to limit
// bytes, longer JSON is dropped, and [PortableJSON] rewrites the rest.
func NewValue(text, asJSON string, limit int64) *Value {
	v := &Value{Text: Clip(text, int(limit))}
	if int64(len(asJSON)) <= limit {
		v.JSON = PortableJSON([]byte(asJSON))
	}
	return v
}

// Limits that every common parser supports, with room for the message around a
// value.
const (
	maxJSONDepth  = 100 // Rust's serde_json reads 128, pydantic's jiter 200
	maxJSONNumber = 400 // bytes; the longest integer below 1e308 has 309
)

// PortableJSON returns text as JSON that the strictest parsers in use accept and
// agree about, or nil where that would change its meaning. The result is valid,
// nested at most 100 deep, without duplicate names in an object, and its numbers
// are finite as a float64: Python refuses integers of more than 4,300 digits,
// and Rust and Go refuse numbers above 1e308. Lone surrogates and invalid UTF-8
// become U+FFFD.
func PortableJSON(text []byte) json.RawMessage {
	if !json.Valid(text) {
		return nil
	}
	p := portable{in: text, out: make([]byte, 0, len(text))}
	for len(p.in) > 0 {
		if !p.token() {
			return nil
		}
	}
	return p.out
}

// portable rewrites a valid JSON text.
type portable struct {
	in, out []byte
	open    []map[string]bool // the names seen in each open object; nil for an array
	name    bool              // the next string is a name
}

// token copies the next token and reports whether parsers agree about it.
func (p *portable) token() bool {
	n := 1
	switch c := p.in[0]; c {
	case ' ', '\t', '\r', '\n':
		p.in = p.in[1:]
		return true
	case '{', '[':
		var names map[string]bool
		if c == '{' {
			names = map[string]bool{}
		}
		p.open, p.name = append(p.open, names), c == '{'
		if len(p.open) > maxJSONDepth {
			return false
		}
	case '}', ']':
		p.open, p.name = p.open[:len(p.open)-1], false
	case ',':
		p.name = p.open[len(p.open)-1] != nil
	case ':':
		p.name = false
	case '"':
		return p.str()
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n = len(p.in) - len(bytes.TrimLeft(p.in, "+-.0123456789eE"))
		if n > maxJSONNumber {
			return false
		}
		if _, err := strconv.ParseFloat(string(p.in[:n]), 64); err != nil {
			return false
		}
	}
	p.out = append(p.out, p.in[:n]...)
	p.in = p.in[n:]
	return true
}

// str copies a string and reports whether parsers agree about it.
func (p *portable) str() bool {
	n, escaped := 1, false
	for ; p.in[n] != '"'; n++ {
		if p.in[n] == '\\' {
			escaped = true
			n++
		}
	}
	n++
	raw := p.in[:n]
	p.in = p.in[n:]
	surrogates := escaped && (bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`)))
	if surrogates || !utf8.Valid(raw) {
		var text string
		if json.Unmarshal(raw, &text) != nil { // it puts U+FFFD in their place
			return false
		}
		var err error
		if raw, err = json.Marshal(text); err != nil {
			return false
		}
	}
	p.out = append(p.out, raw...)
	if !p.name {
		return true
	}
	var name string
	if !escaped {
		name = string(raw[1 : len(raw)-1])
	} else if json.Unmarshal(raw, &name) != nil {
		return false
	}
	names := p.open[len(p.open)-1]
	twice := names[name]
	names[name] = true
	return !twice
}
