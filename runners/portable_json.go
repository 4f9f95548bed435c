package runners

import (
	"bytes"
	"encoding/json"
	"strconv"
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

// JSON returns data of ours as JSON. It panics if v has what no JSON can express.
func JSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
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
	p := portable{in: json.NewDecoder(bytes.NewReader(text))}
	p.in.UseNumber()
	p.write = json.NewEncoder(&p.out)
	p.write.SetEscapeHTML(false)
	if !json.Valid(text) || !p.value(1) {
		return nil
	}
	return p.out.Bytes()
}

// portable rewrites a valid JSON text.
type portable struct {
	in    *json.Decoder // which puts U+FFFD in the place of what is not Unicode
	out   bytes.Buffer
	write *json.Encoder // to out
}

// value copies the next value and reports whether parsers agree about it.
func (p *portable) value(depth int) bool {
	token, err := p.in.Token()
	if err != nil {
		return false
	}
	switch t := token.(type) {
	case json.Delim:
		return depth <= maxJSONDepth && p.members(t, depth)
	case json.Number:
		_, err = strconv.ParseFloat(t.String(), 64)
		p.out.WriteString(t.String())
		return err == nil && len(t) <= maxJSONNumber
	}
	return p.simple(token)
}

// members copies an object or an array, of which the beginning was read.
func (p *portable) members(begin json.Delim, depth int) bool {
	p.out.WriteByte(byte(begin))
	names := map[any]bool{}
	for first := true; p.in.More(); first = false {
		if !first {
			p.out.WriteByte(',')
		}
		if begin == '{' {
			name, err := p.in.Token()
			if err != nil || names[name] || !p.simple(name) {
				return false
			}
			names[name] = true
			p.out.WriteByte(':')
		}
		if !p.value(depth + 1) {
			return false
		}
	}
	_, err := p.in.Token()
	p.out.WriteByte(byte(begin) + 2) // ] or }
	return err == nil
}

// simple writes a string, a boolean or null.
func (p *portable) simple(token json.Token) bool {
	err := p.write.Encode(token)
	p.out.Truncate(p.out.Len() - len("\n"))
	return err == nil
}
