package jq

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

func (j *run) print(v any) {
	s, isString := v.(string)
	raw := j.o.On("r") || j.o.On("j") || j.o.On("raw-output0")
	if !isString || !raw {
		s = j.json(v)
	}
	if j.o.On("seq") {
		j.c.Print("\x1e")
	}
	j.c.Print(s)
	switch {
	case j.o.On("raw-output0"):
		j.c.Print("\x00")
	case !j.o.On("j"):
		j.c.Print("\n")
	}
}

// json is a value as jq prints it.
func (j *run) json(v any) string {
	var b strings.Builder
	j.encode(&b, v, 0)
	return b.String()
}

// compact is the function _json: a value's text.
func (j *run) compact(v any, _ []any) any {
	plain := run{o: new(command.Options), order: j.order}
	return plain.json(v)
}

// functions are those of the command itself, which gojq leaves to it.
func (j *run) functions() []gojq.CompilerOption {
	show := func(raw bool, format string) func(any, []any) any {
		return func(v any, _ []any) any {
			s, ok := v.(string)
			if !ok || !raw {
				s = j.compact(v, nil).(string)
			}
			j.c.Out.Flush()
			j.c.Warnf(format, s)
			return v
		}
	}
	return []gojq.CompilerOption{
		gojq.WithFunction("_json", 0, 0, j.compact),
		gojq.WithFunction("_at", 1, 1, at),
		gojq.WithFunction("debug", 0, 0, show(false, "[\"DEBUG:\",%s]\n")),
		gojq.WithFunction("stderr", 0, 0, show(true, "%s")),
		gojq.WithFunction("input_filename", 0, 0, func(any, []any) any {
			if j.in.place == nil || j.in.place.name == "<stdin>" {
				return nil
			}
			return j.in.place.name
		}),
		gojq.WithFunction("input_line_number", 0, 0, func(any, []any) any {
			if j.in.place == nil {
				return j.in.count
			}
			return j.in.place.line()
		}),
	}
}

// colors are the colours of jq 1.6.
var colors = map[byte]string{'n': "1;30", 'f': "0;39", 't': "0;39", '0': "0;39", 's': "0;32", 'a': "1;39", 'o': "1;39", 'k': "34;1"}

func (j *run) paint(b *strings.Builder, kind byte, s string) {
	if j.o.On("C") {
		b.WriteString("\x1b[" + colors[kind] + "m" + s + "\x1b[0m")
		return
	}
	b.WriteString(s)
}

func (j *run) encode(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case nil:
		j.paint(b, 'n', "null")
	case bool:
		j.paint(b, "ft"[command.Btoi(v)], strconv.FormatBool(v))
	case int:
		j.paint(b, '0', strconv.Itoa(v))
	case float64:
		j.paint(b, '0', float(v))
	case *big.Int:
		j.paint(b, '0', v.String())
	case json.Number: // of fromjson
		j.encode(b, numbers(v), depth)
	case string:
		j.paint(b, 's', j.quoted(v))
	case []any:
		j.paint(b, 'a', "[")
		for i, e := range v {
			if i > 0 {
				j.paint(b, 'a', ",")
			}
			j.line(b, depth+1)
			j.encode(b, e, depth+1)
		}
		if len(v) > 0 {
			j.line(b, depth)
		}
		j.paint(b, 'a', "]")
	case map[string]any:
		var keys []string
		if j.o.On("S") {
			keys = slices.Sorted(maps.Keys(v))
		} else {
			keys = j.order.keysOf(v)
		}
		j.paint(b, 'o', "{")
		for i, k := range keys {
			if i > 0 {
				j.paint(b, 'o', ",")
			}
			j.line(b, depth+1)
			j.paint(b, 'k', j.quoted(k))
			j.paint(b, 'o', ":")
			if j.indent != "" {
				b.WriteByte(' ')
			}
			j.encode(b, v[k], depth+1)
		}
		if len(v) > 0 {
			j.line(b, depth)
		}
		j.paint(b, 'o', "}")
	}
}

func (j *run) line(b *strings.Builder, depth int) {
	if j.indent != "" {
		b.WriteByte('\n')
		for range depth {
			b.WriteString(j.indent)
		}
	}
}

func float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "null"
	case f > math.MaxFloat64:
		f = math.MaxFloat64
	case f < -math.MaxFloat64:
		f = -math.MaxFloat64
	}
	if a := math.Abs(f); f == math.Trunc(f) && a < 1e17 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	} else if a != 0 && a < 1e-5 || a >= 1e17 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func (j *run) quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		case r > 0x7e && j.o.On("a"):
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
