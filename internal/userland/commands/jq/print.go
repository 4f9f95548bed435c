package jq

import (
	"encoding/json"
	"fmt"
	"io"
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
	if j.o.On("seq") {
		j.c.Print("\x1e")
	}
	raw := j.o.On("r") || j.o.On("j") || j.o.On("raw-output0")
	if s, ok := v.(string); ok && raw {
		j.c.Print(s)
	} else {
		e := encoder{limits: j.limits, order: j.order, w: j.c.Out, indent: j.indent, color: j.o.On("C"), sorted: j.o.On("S"), ascii: j.o.On("a")}
		e.encode(v, 0)
	}
	switch {
	case j.o.On("raw-output0"):
		j.c.Print("\x00")
	case !j.o.On("j"):
		j.c.Print("\n")
	}
}

// compact is the function _json: a value's text.
func (j *run) compact(v any, _ []any) any {
	var b strings.Builder
	e := encoder{limits: j.limits, order: j.order, w: &b}
	e.encode(v, 0)
	return or(e.err, b.String())
}

// text is a value's text, for messages.
func (j *run) text(v any) string {
	switch v := j.compact(v, nil).(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return ""
}

// functions are those of the command itself, which gojq leaves to it, and those that a
// rewritten filter calls.
func (j *run) functions() []gojq.CompilerOption {
	show := func(raw bool, format string) func(any, []any) any {
		return func(v any, _ []any) any {
			s, ok := v.(string)
			if !ok || !raw {
				s = j.text(v)
			}
			j.c.Out.Flush()
			j.c.Warnf(format, s)
			return v
		}
	}
	l := j.limits
	return []gojq.CompilerOption{
		gojq.WithFunction("_json", 0, 0, j.compact),
		gojq.WithFunction("_fromjson", 0, 0, func(v any, _ []any) any {
			if s, ok := v.(string); ok && l.room(40*len(s)) != nil {
				return command.ErrMemory
			} else if r, err := decodeJSON([]byte(s), j.order); ok && err == nil {
				return []any{r}
			}
			return nil
		}),
		gojq.WithFunction("_keys", 0, 0, j.order.keys),
		gojq.WithFunction("_keyed", 1, 1, keyed),
		gojq.WithFunction("_fits", 0, 0, l.fits),
		gojq.WithFunction("_pair", 1, 1, l.pair),
		gojq.WithFunction("_path", 0, 0, l.path),
		gojq.WithFunction("_position", 0, 0, l.position),
		gojq.WithFunction("_sums", 0, 0, func(v any, _ []any) any {
			if list, ok := v.([]any); ok && len(list) > 0 {
				j.order.union(list)
			}
			return l.sums(v, nil)
		}),
		gojq.WithFunction("_entries", 0, 0, j.order.entries),
		gojq.WithFunction("_joins", 1, 1, l.joins),
		gojq.WithFunction("_table", 0, 0, l.table),
		gojq.WithFunction("_digits", 0, 0, l.digits),
		gojq.WithFunction("_searches", 2, 2, l.searches),
		gojq.WithFunction("_room", 1, 1, func(v any, args []any) any {
			s, _ := v.(string)
			return or(l.room(args[0].(int)*len(s)), v)
		}),
		gojq.WithFunction("debug", 0, 0, show(false, "[\"DEBUG:\",%s]\n")),
		gojq.WithFunction("stderr", 0, 0, show(true, "%s")),
		gojq.WithFunction("input_filename", 0, 0, func(any, []any) any {
			if j.in.files == nil || j.in.files.name == "<stdin>" {
				return nil
			}
			return j.in.files.name
		}),
		gojq.WithFunction("input_line_number", 0, 0, func(any, []any) any {
			if j.in.files == nil {
				return j.in.count
			}
			return j.in.files.lineNumber()
		}),
	}
}

// encoder writes values as jq prints them.
type encoder struct {
	limits               *limits
	order                *order
	w                    io.StringWriter // a strings.Builder is charged
	indent               string
	color, sorted, ascii bool
	steps                int
	err                  error
}

// colors are the colours of jq 1.6.
var colors = map[byte]string{'n': "1;30", 'f': "0;39", 't': "0;39", '0': "0;39", 's': "0;32", 'a': "1;39", 'o': "1;39", 'k': "34;1"}

func (e *encoder) paint(kind byte, s string) {
	if e.color {
		s = "\x1b[" + colors[kind] + "m" + s + "\x1b[0m"
	}
	e.w.WriteString(s)
}

// goes reports whether to go on.
func (e *encoder) goes() bool {
	if e.steps++; e.steps&0xff == 0 && e.err == nil {
		if b, ok := e.w.(*strings.Builder); ok {
			e.err = e.limits.room(2 * b.Len())
		}
		if e.limits.c.Stopped() {
			e.err = command.ErrStopped
		}
	}
	return e.err == nil
}

func (e *encoder) encode(v any, depth int) {
	if !e.goes() {
		return
	}
	if depth > maxDepth { // as jq has it
		e.w.WriteString("<skipped: too deep>")
		return
	}
	switch v := v.(type) {
	case nil:
		e.paint('n', "null")
	case bool:
		e.paint("ft"[command.Btoi(v)], strconv.FormatBool(v))
	case int:
		e.paint('0', strconv.Itoa(v))
	case float64:
		e.paint('0', float(v))
	case *big.Int:
		e.paint('0', v.String())
	case json.Number: // of fromjson
		e.encode(number(string(v)), depth)
	case string:
		e.paint('s', e.quoted(v))
	case []any:
		e.paint('a', "[")
		for i, x := range v {
			if i > 0 {
				e.paint('a', ",")
			}
			e.line(depth + 1)
			if e.encode(x, depth+1); e.err != nil {
				return
			}
		}
		if len(v) > 0 {
			e.line(depth)
		}
		e.paint('a', "]")
	case map[string]any:
		e.object(v, depth)
	}
}

func (e *encoder) object(v map[string]any, depth int) {
	keys := e.order.keysOf
	if e.sorted {
		keys = func(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }
	}
	e.paint('o', "{")
	for i, k := range keys(v) {
		if i > 0 {
			e.paint('o', ",")
		}
		e.line(depth + 1)
		e.paint('k', e.quoted(k))
		e.paint('o', ":")
		if e.indent != "" {
			e.w.WriteString(" ")
		}
		if e.encode(v[k], depth+1); e.err != nil {
			return
		}
	}
	if len(v) > 0 {
		e.line(depth)
	}
	e.paint('o', "}")
}

func (e *encoder) line(depth int) {
	if e.indent != "" {
		e.w.WriteString("\n")
		for range depth {
			e.w.WriteString(e.indent)
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

func (e *encoder) quoted(s string) string {
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
		case r > 0x7e && e.ascii:
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
