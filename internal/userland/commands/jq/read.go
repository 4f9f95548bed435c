package jq

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// reader reads JSON as jq's own parser does, in whose words its errors are: see
// jv_parse.c of jq 1.6. It notes the order of keys.
type reader struct {
	in        *bufio.Reader
	order     *order
	line, col int // of what was read: line ends, and bytes behind the last one

	within []container
	next   any  // the value that was read, if there is one
	has    bool // there is
	token  []byte
}

// container is an array or an object that a reader is in.
type container struct {
	list   []any
	object map[string]any // nil: an array
	keys   []string
	key    string // whose value is due
	due    bool
	comma  bool // the last thing in it was one
}

// maxJSON bounds the nesting of JSON that is read.
const maxJSON = 10000

// read reads a value. The error is io.EOF only if the input ends before one begins.
func (r *reader) read() (any, error) {
	r.order.value++
	r.within, r.token, r.has = r.within[:0], r.token[:0], false
	for {
		ch, err := r.in.ReadByte()
		if err == io.EOF {
			return r.end()
		} else if err != nil {
			return nil, err
		}
		if strings.IndexByte(" \t\r\n[{:,]}\"", ch) < 0 {
			r.col++
			r.token = append(r.token, ch)
			continue
		}
		what := r.literal()
		if what == "" && r.has && len(r.within) == 0 { // what ends a number is not its own
			r.in.UnreadByte()
			return r.top()
		}
		if r.count(ch); what == "" && ch == '"' {
			what, err = r.str()
		} else if what == "" && strings.IndexByte("[{:,]}", ch) >= 0 {
			what, err = r.structure(ch)
		}
		switch {
		case err != nil:
			return nil, err
		case what != "":
			return nil, r.wrong(what)
		case r.has && len(r.within) == 0:
			return r.top()
		}
	}
}

// end ends the input.
func (r *reader) end() (any, error) {
	what := r.literal()
	if what == "" && len(r.within) > 0 {
		what = "Unfinished JSON term"
	}
	switch {
	case what != "":
		return nil, r.wrong(what + " at EOF")
	case r.has:
		return r.top()
	}
	return nil, io.EOF
}

// top returns the value that was read.
func (r *reader) top() (any, error) {
	r.see()
	return r.next, nil
}

// see notes the value that was read, which may be a key somewhere.
func (r *reader) see() {
	if s, ok := r.next.(string); ok {
		r.order.see(inString, s)
	}
}

func (r *reader) count(ch byte) {
	if r.col++; ch == '\n' {
		r.line, r.col = r.line+1, 0
	}
}

func (r *reader) wrong(what string) error {
	return fmt.Errorf("%s at line %d, column %d", what, r.line+1, r.col)
}

// put takes a value. Like the functions below it returns what is wrong, "" if nothing is.
func (r *reader) put(v any) string {
	if r.has {
		return "Expected separator between values"
	}
	r.next, r.has = v, true
	return ""
}

// literal ends a token.
func (r *reader) literal() string {
	t := string(r.token)
	r.token = r.token[:0]
	switch t {
	case "":
		return ""
	case "true", "false":
		return r.put(t == "true")
	case "null":
		return r.put(nil)
	case "nan":
		return r.put(math.NaN())
	}
	if strings.IndexByte("tfn", t[0]) >= 0 {
		return "Invalid literal"
	}
	if _, err := strconv.ParseFloat(t, 64); err != nil && !errors.Is(err, strconv.ErrRange) || strings.Trim(t, "0123456789.eE+-") != "" {
		return "Invalid numeric literal"
	}
	return r.put(number(t))
}

// number returns a number in the type that gojq takes.
func number(s string) any {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if n, ok := new(big.Int).SetString(s, 10); ok && len(s) < maxDigits {
		return n
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// str reads the rest of a string.
func (r *reader) str() (what string, err error) {
	raw := []byte{'"'}
	for escaped := false; ; {
		ch, err := r.in.ReadByte()
		if err == io.EOF {
			return "Unfinished string at EOF", nil
		} else if err != nil {
			return "", err
		}
		r.count(ch)
		raw = append(raw, ch)
		if ch == '"' && !escaped {
			break
		}
		escaped = ch == '\\' && !escaped
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return badString(raw), nil
	}
	return r.put(s), nil
}

// badString returns what is wrong with a string.
func badString(raw []byte) string {
	for i := 1; i < len(raw)-1; i++ {
		switch c := raw[i]; {
		case c < ' ':
			return "Invalid string: control characters from U+0000 through U+001F must be escaped"
		case c != '\\':
		case raw[i+1] == 'u':
			if _, err := strconv.ParseUint(string(raw[i+2:min(i+6, len(raw))]), 16, 16); err != nil {
				return `Invalid \uXXXX escape`
			}
			i += 5
		case strings.IndexByte(`"\/bfnrt`, raw[i+1]) < 0:
			return "Invalid escape"
		default:
			i++
		}
	}
	return "Invalid escape"
}

// structure takes one of [{:,]}.
func (r *reader) structure(ch byte) (what string, err error) {
	var in *container
	if n := len(r.within); n > 0 {
		in = &r.within[n-1]
	}
	switch ch {
	case '[', '{':
		switch {
		case r.has:
			return "Expected separator between values", nil
		case len(r.within) > maxJSON:
			return "", errors.New("Exceeds depth limit for parsing")
		}
		c := container{list: []any{}}
		if ch == '{' {
			c = container{object: map[string]any{}}
		}
		r.within = append(r.within, c)
		return "", nil
	case ':':
		key, isString := r.next.(string)
		switch {
		case !r.has:
			return "Expected string key before ':'", nil
		case in == nil || in.object == nil || in.due:
			return "':' not as part of an object", nil
		case !isString:
			return "Object keys must be strings", nil
		}
		in.key, in.due, r.has = key, true, false
		return "", nil
	case ',':
		switch {
		case !r.has:
			return "Expected value before ','", nil
		case in == nil:
			return "',' should separate object elements", nil
		case in.object != nil && !in.due:
			return "Objects must consist of key:value pairs", nil
		}
		r.add(in)
		in.comma = true
		return "", nil
	}
	return r.close(ch, in), nil
}

// add adds the value that was read to what it is in.
func (r *reader) add(in *container) {
	if r.see(); in.object == nil {
		in.list = append(in.list, r.next)
	} else {
		if _, again := in.object[in.key]; !again {
			in.keys = append(in.keys, in.key)
		}
		in.object[in.key] = r.next
	}
	in.due, in.comma, r.has = false, false, false
}

// close takes ] or }.
func (r *reader) close(ch byte, in *container) string {
	switch {
	case in == nil, ch == ']' && in.object != nil, ch == '}' && !r.has && (in.object == nil || in.due):
		return "Unmatched '" + string(ch) + "'"
	case ch == '}' && r.has && !in.due:
		return "Objects must consist of key:value pairs"
	case !r.has && in.comma && ch == ']':
		return "Expected another array element"
	case !r.has && in.comma:
		return "Expected another key-value pair"
	}
	if r.has {
		r.add(in)
	}
	if r.next, r.has = any(in.list), true; in.object != nil {
		r.order.note(inKey, in.keys)
		r.next = in.object
	}
	r.within = r.within[:len(r.within)-1]
	return ""
}

// decodeJSON decodes the one value of a text.
func decodeJSON(data []byte, order *order) (any, error) {
	list, err := slurpJSON(data, order)
	if err == nil && len(list) != 1 {
		err = errors.New("not one value")
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// slurpJSON decodes all values of a text.
func slurpJSON(data []byte, order *order) ([]any, error) {
	r := &reader{in: bufio.NewReader(bytes.NewReader(data)), order: order}
	for list := []any{}; ; {
		v, err := r.read()
		if err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}
