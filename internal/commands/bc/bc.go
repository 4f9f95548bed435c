// Package bc is the calculator bc, with numbers of any size and scale.
package bc

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/commands/command"
)

// run is a running bc. A program is read as a whole, and interpreted from its
// text: a loop goes back to where its condition stands.
type run struct {
	c       *command.Call
	src     []string // tokens
	at      int
	vars    map[string]num
	arrays  map[string]map[int]num
	funcs   map[string]function
	skip    bool // parse without effect
	depth   int
	steps   int
	result  num // of return
	library bool
}

type function struct {
	params, autos []string
	body          int // where it begins in the tokens
}

var (
	errBreak    = errors.New("break outside a for/while")
	errContinue = errors.New("continue outside a for")
	errReturn   = errors.New("return outside of a function.")
	errQuit     = errors.New("quit")
)

// Main is bc: it calculates with any precision.
func Main(c *command.Call) int {
	o := c.Parse("l,mathlib q,quiet s,standard w,warn i,interactive e,expression= !f,file=")
	b := &run{c: c, vars: map[string]num{"scale": integer(0), "ibase": integer(10), "obase": integer(10)}, arrays: map[string]map[int]num{}, funcs: map[string]function{}}
	if b.library = o.On("l"); b.library {
		b.vars["scale"] = integer(20)
	}
	in := io.Reader(c.Concat(append(o.Args, "-")))
	if e := o.Values("e"); len(e) > 0 {
		in = strings.NewReader(strings.Join(e, "\n") + "\n")
	}
	data, err := c.ReadAll(in)
	if err != nil {
		return c.Die(1, "%s", command.Text(err))
	}
	if b.src, err = tokens(string(data)); err != nil {
		return c.Die(1, "%s", err)
	}
	for b.at < len(b.src) {
		if b.accept("\n") || b.accept(";") {
			continue
		}
		err := b.statement()
		switch {
		case err == nil:
		case errors.Is(err, errQuit), errors.Is(err, command.ErrStopped):
			return 0
		default:
			// The rest of the line is dropped.
			c.Warnf("(standard_in) %d: %s\n", 1+strings.Count(strings.Join(b.src[:min(b.at, len(b.src))], ""), "\n"), err)
			for b.at < len(b.src) && b.src[b.at] != "\n" {
				b.at++
			}
			b.skip, b.depth = false, 0
		}
	}
	return 0
}

// tokens splits a program. Strings keep their first quote.
func tokens(s string) (list []string, err error) {
	for i := 0; i < len(s); {
		start := i
		switch ch := s[i]; {
		case ch == ' ' || ch == '\t' || ch == '\r':
			i++
			continue
		case ch == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i += 2
			continue
		case ch == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		case strings.HasPrefix(s[i:], "/*"):
			end := strings.Index(s[i+2:], "*/")
			if end < 0 {
				return nil, errors.New("comment without its end")
			}
			i += end + 4
			continue
		case ch == '"':
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 {
				return nil, errors.New("string without its end")
			}
			list = append(list, s[i:i+1+end])
			i += end + 2
			continue
		case ch >= '0' && ch <= '9' || ch == '.' || ch >= 'A' && ch <= 'F':
			for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.' || s[i] >= 'A' && s[i] <= 'F') {
				i++
			}
			if i-start > maxDigits {
				return nil, errors.New("number is too long")
			}
		case ch >= 'a' && ch <= 'z':
			for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= '0' && s[i] <= '9' || s[i] == '_') {
				i++
			}
		default:
			i++
			if i < len(s) {
				switch s[start : i+1] {
				case "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "!=", "<=", ">=", "&&", "||":
					i++
				}
			}
		}
		list = append(list, s[start:i])
	}
	return list, nil
}

func (b *run) peek() string {
	if b.at < len(b.src) {
		return b.src[b.at]
	}
	return ""
}

func (b *run) accept(t string) bool {
	if b.at < len(b.src) && b.src[b.at] == t {
		b.at++
		return true
	}
	return false
}

func (b *run) expect(t string) error {
	if !b.accept(t) {
		return errSyntax
	}
	return nil
}

var errSyntax = errors.New("syntax error")

func (b *run) newlines() {
	for b.accept("\n") {
	}
}

// enter bounds the nesting and the time.
func (b *run) enter() error {
	if b.steps++; b.steps&0xff == 0 && b.c.Stopped() {
		return command.ErrStopped
	}
	if b.depth++; b.depth > 3000 {
		return errors.New("the program is nested too deeply")
	}
	return nil
}

// call calls a function of the program.
func (b *run) call(name string, args []num) (num, error) {
	f, ok := b.funcs[name]
	if !ok {
		return integer(0), fmt.Errorf("Function %s not defined.", name)
	}
	if len(args) != len(f.params) {
		return integer(0), errors.New("Parameter number mismatch")
	}
	type saved struct {
		v     num
		array map[int]num
	}
	old := map[string]saved{}
	for _, n := range append(append([]string{}, f.params...), f.autos...) {
		old[n] = saved{b.vars[n], b.arrays[strings.TrimSuffix(n, "[]")]}
		if array, is := strings.CutSuffix(n, "[]"); is {
			b.arrays[array] = map[int]num{}
		} else {
			b.vars[n] = integer(0)
		}
	}
	for i, p := range f.params {
		b.vars[p] = args[i]
	}
	at := b.at
	b.at, b.result = f.body, integer(0)
	err := b.block()
	b.at = at
	for n, s := range old {
		if array, is := strings.CutSuffix(n, "[]"); is {
			b.arrays[array] = s.array
		} else if b.vars[n] = s.v; s.v.n == nil {
			delete(b.vars, n)
		}
	}
	if errors.Is(err, errReturn) {
		err = nil
	}
	v := b.result
	b.result = integer(0)
	return v, err
}
