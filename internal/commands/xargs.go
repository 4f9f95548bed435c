package commands

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"coderunner/internal/kernel"
	"coderunner/pyodide/abi"
	"coderunner/pyodide/memfs"
)

// xargs builds command lines from standard input.
func xargs(c *call) int {
	o, status := c.options("+ 0,null a,arg-file= d,delimiter= E= e,eof=? I= i,replace=? L= l,max-lines=? n,max-args= p,interactive P,max-procs= r,no-run-if-empty s,max-chars= t,verbose x,exit !o,open-tty !process-slot-var= !show-limits")
	if o == nil {
		return status
	}
	x := &xargsRun{c: c, o: o, command: o.args, most: math.MaxInt, chars: 128 << 10, parallel: 1}
	if len(x.command) == 0 {
		x.command = []string{"echo"}
	}
	for name, to := range map[string]*int{"n": &x.most, "L": &x.lines, "l": &x.lines, "s": &x.chars, "P": &x.parallel} {
		if !o.on(name) {
			continue
		}
		n, ok := atoi(o.value(name, ""))
		if name == "l" && o.value("l", "") == "" {
			n, ok = 1, true
		}
		if !ok {
			return c.die(1, "invalid number %q for -%s option", o.value(name, ""), name)
		}
		if n < 1 && name != "P" {
			return c.die(1, "value %d for -%s option should be >= 1", n, name)
		}
		*to = n
	}
	if x.parallel < 1 || x.parallel > 16 {
		x.parallel = 16
	}
	if o.on("I") || o.on("i") {
		if x.replace = o.value("I", o.value("i", "")); x.replace == "" {
			x.replace = "{}"
		}
	}
	in := c.in()
	var r interface{ ReadByte() (byte, error) } = in
	if name := o.value("a", ""); name != "" {
		f, err := c.open(name)
		if err != nil {
			return c.die(1, "Cannot open input file %s: %s", quote(name), text(err))
		}
		c.files = append(c.files, f)
		r = c.lines(f, '\n').r
	}
	return x.run(r)
}

type xargsRun struct {
	c        *call
	o        *options
	command  []string
	most     int // arguments
	lines    int
	chars    int
	parallel int
	replace  string

	args    []string
	size    int
	read    int // lines in args
	ran     bool
	running []*kernel.Process
	status  int
	stop    bool
}

func (x *xargsRun) run(r interface{ ReadByte() (byte, error) }) int {
	s := &xargsScanner{c: x.c, r: r, delim: -1, lines: x.replace != ""}
	switch d := x.o.value("d", ""); {
	case x.o.on("0"):
		s.delim = 0
	case d != "":
		text, _, _ := cEscape(d+" ", false)
		if d[0] != '\\' {
			text = d
		}
		s.delim = int(text[0])
	}
	eof := x.o.value("E", x.o.value("e", ""))
	for !x.stop && !x.c.stopped() {
		arg, ok, err := s.next()
		if err != nil {
			x.c.errorf("%s", err)
			x.status = 1
			break
		}
		if !ok || eof != "" && arg == eof {
			break
		}
		if x.replace != "" {
			x.start(arg)
			continue
		}
		if len(x.args) > 0 && x.size+len(arg)+1 > x.chars {
			x.flush()
		}
		x.args, x.size = append(x.args, arg), x.size+len(arg)+1
		if s.lineEnded {
			x.read++
		}
		if len(x.args) >= x.most || x.lines > 0 && x.read >= x.lines {
			x.flush()
		}
	}
	if len(x.args) > 0 || !x.ran && !x.o.on("r") && x.replace == "" && x.status == 0 {
		x.flush()
	}
	for len(x.running) > 0 {
		x.reap()
	}
	return x.status
}

func (x *xargsRun) flush() {
	args := append(slices.Clone(x.command), x.args...)
	x.args, x.size, x.read = nil, 0, 0
	x.exec(args)
}

// start runs the command for one argument of -I.
func (x *xargsRun) start(arg string) {
	var args []string
	for _, a := range x.command {
		args = append(args, strings.ReplaceAll(a, x.replace, arg))
	}
	x.exec(args)
}

func (x *xargsRun) exec(args []string) {
	if x.stop {
		return
	}
	x.ran = true
	if x.o.on("t") || x.o.on("p") {
		x.c.warnf("%s\n", strings.Join(args, " "))
	}
	for len(x.running) >= x.parallel {
		x.reap()
	}
	null, _ := x.c.openFile("/dev/null", abi.O_RDONLY, 0)
	ch := child{args: args}
	if null != nil {
		ch.files = map[int]*memfs.File{0: null.f}
		defer null.Close()
	}
	p, err := x.c.start(ch)
	if err != nil {
		x.c.errorf("%s: %s", args[0], text(err))
		x.status, x.stop = notStarted(err), true
		return
	}
	x.running = append(x.running, p)
	if x.parallel == 1 {
		x.reap()
	}
}

// reap waits for the oldest child.
func (x *xargsRun) reap() {
	p := x.running[0]
	x.running = x.running[1:]
	s, ok := x.c.wait(x.c.ctx, p)
	switch {
	case !ok:
		x.c.p.Kill(p.PID(), kernel.SIGKILL)
		x.stop = true
	case s.Signal() != 0:
		x.c.errorf("%s: terminated by signal %d", base(p.Path), s.Signal())
		x.status, x.stop = 125, true
	case s.Code() == 255:
		x.c.errorf("%s: exited with status 255; aborting", base(p.Path))
		x.status, x.stop = 124, true
	case s.Code() != 0:
		x.status = 123
	}
}

// xargsScanner splits the input into arguments.
type xargsScanner struct {
	c         *call
	r         interface{ ReadByte() (byte, error) }
	delim     int  // -1: blanks, with quotes
	lines     bool // whole lines, with quotes
	lineEnded bool
}

func (s *xargsScanner) next() (arg string, ok bool, err error) {
	var b strings.Builder
	in, quoteChar := false, byte(0)
	s.lineEnded = false
	for {
		ch, e := s.r.ReadByte()
		if e != nil {
			if quoteChar != 0 {
				return "", false, s.unmatched(quoteChar)
			}
			return strings.TrimLeft(b.String(), ""), in, nil
		}
		if b.Len() > 1<<20 {
			return "", false, errors.New("argument line too long")
		}
		switch {
		case s.delim >= 0:
			if int(ch) == s.delim {
				return b.String(), true, nil
			}
			in = true
			b.WriteByte(ch)
		case quoteChar != 0:
			if ch == quoteChar {
				quoteChar = 0
				continue
			}
			if ch == '\n' {
				return "", false, s.unmatched(quoteChar)
			}
			b.WriteByte(ch)
		case ch == '\'' || ch == '"':
			in, quoteChar = true, ch
		case ch == '\\':
			if ch, e = s.r.ReadByte(); e == nil {
				in = true
				b.WriteByte(ch)
			}
		case ch == '\n' || (ch == ' ' || ch == '\t') && !s.lines:
			if in {
				s.lineEnded = ch == '\n'
				return b.String(), true, nil
			}
		case (ch == ' ' || ch == '\t') && !in:
		default:
			in = true
			b.WriteByte(ch)
		}
	}
}

func (s *xargsScanner) unmatched(q byte) error {
	kind := "double"
	if q == '\'' {
		kind = "single"
	}
	return fmt.Errorf("unmatched %s quote; by default quotes are special to xargs unless you use the -0 option", kind)
}
