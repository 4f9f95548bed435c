// Package bc is the calculator bc, with numbers of any size and scale.
package bc

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// run is a running bc. A program is read up to where a statement may end, so that bc
// answers who waits for it, and interpreted from its text: a loop goes back to where
// its condition stands.
type run struct {
	c       *command.Call
	src     []string // tokens
	at      int
	vars    map[string]num
	arrays  map[string]map[int]num
	funcs   map[string]function
	skip    bool // parse without effect
	steps   int
	result  num // of return
	library bool
}

type function struct {
	params, autos []string
	body          int // where it begins in the tokens
}

// flow is where a program goes after a statement.
type flow int

const (
	onward flow = iota // to the next statement
	broken
	continued
	returned
	quit
)

// misplaced are the errors of statements outside of what they are for.
var misplaced = map[flow]error{
	broken:    errors.New("break outside a for/while"),
	continued: errors.New("continue outside a for"),
	returned:  errors.New("return outside of a function."),
}

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
	for l := c.Lines(in, '\n'); ; {
		more, err := b.read(l)
		c.Must(err)
		if !b.interpret() || !more {
			return 0
		}
	}
}

// read reads lines up to where a statement may end. It reports whether there may be
// more.
func (b *run) read(l *command.Lines) (more bool, err error) {
	var text strings.Builder
	for {
		line, ok := l.Next()
		if l.Err != nil {
			return false, l.Err
		}
		if b.c.Stopped() {
			return false, command.ErrStopped
		}
		if err := b.c.Reserve(tokenCost * int64(len(line)+1)); err != nil {
			return false, err
		}
		if text.Write(line); l.Whole && ok {
			text.WriteByte('\n')
		}
		if ok && strings.HasSuffix(text.String(), "\\\n") {
			continue
		}
		list, err := tokens(text.String())
		if ok && (err != nil || open(list)) {
			continue
		}
		b.src = append(b.src, list...)
		return ok, err
	}
}

// tokenCost is what a byte of a program takes at most, as a token of its own.
const tokenCost = 40

// open reports whether tokens end within a statement.
func open(list []string) bool {
	depth := 0
	for _, t := range list {
		switch t {
		case "{", "(":
			depth++
		case "}", ")":
			depth--
		}
	}
	if n := len(list) - 1; n > 0 && list[n] == "\n" { // the statement may stand on the next line
		last := list[n-1]
		head := slices.ContainsFunc(list, func(t string) bool { return t == "define" || t == "if" || t == "while" || t == "for" })
		return depth > 0 || last == "else" || last == ")" && head
	}
	return depth > 0
}

// interpret runs what was read. It reports whether bc goes on.
func (b *run) interpret() bool {
	c := b.c
	for b.at < len(b.src) {
		if b.accept("\n") || b.accept(";") {
			continue
		}
		var went flow
		err := b.c.Catch(func() { went = b.statement() })
		err = cmp.Or(err, misplaced[went])
		switch {
		case went == quit, errors.Is(err, errQuit), errors.Is(err, command.ErrStopped):
			return false
		case err != nil:
			// The rest of the line is dropped.
			c.Warnf("(standard_in) %d: %s\n", 1+strings.Count(strings.Join(b.src[:min(b.at, len(b.src))], ""), "\n"), err)
			for b.at < len(b.src) && b.src[b.at] != "\n" {
				b.at++
			}
			b.skip = false
		}
	}
	return true
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

func (b *run) expect(t string) {
	if !b.accept(t) {
		b.c.Check(errSyntax)
	}
}

var (
	errSyntax = errors.New("syntax error")
	errQuit   = errors.New("quit") // within a function
)

func (b *run) newlines() {
	for b.accept("\n") {
	}
}

// frame is what a level of statements and expressions takes of the stack, twice.
const frame = 8 << 10

// enter bounds the nesting and the time. The caller calls Leave.
func (b *run) enter() {
	if b.steps++; b.steps&0xff == 0 {
		b.c.Proceed()
	}
	if err := b.c.Enter(frame); err != nil {
		b.c.Throw("the program is %w", err)
	}
}

// call calls a function of the program.
func (b *run) call(name string, args []num) num {
	f, ok := b.funcs[name]
	if !ok {
		b.c.Throw("Function %s not defined.", name)
	}
	if len(args) != len(f.params) {
		b.c.Throw("Parameter number mismatch")
	}
	type saved struct {
		v     num
		array map[int]num
	}
	old, at := map[string]saved{}, b.at
	defer func() {
		b.at = at
		for n, s := range old {
			b.c.Release(b.vars[n].size())
			if array, is := strings.CutSuffix(n, "[]"); is {
				b.arrays[array] = s.array
			} else if b.vars[n] = s.v; s.v.n == nil {
				delete(b.vars, n)
			}
		}
	}()
	for _, n := range slices.Concat(f.params, f.autos) {
		old[n] = saved{b.vars[n], b.arrays[strings.TrimSuffix(n, "[]")]}
		if array, is := strings.CutSuffix(n, "[]"); is {
			b.arrays[array] = map[int]num{}
		} else {
			b.vars[n] = integer(0)
		}
	}
	for i, p := range f.params {
		b.c.Check(b.c.Reserve(args[i].size()))
		b.vars[p] = args[i]
	}
	b.at, b.result = f.body, integer(0)
	switch went := b.block(); went {
	case quit:
		b.c.Check(errQuit)
	case broken, continued:
		b.c.Check(misplaced[went])
	}
	v := b.result
	b.result = integer(0)
	return v
}
