package system

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

// Xargs builds command lines from standard input.
func Xargs(c *command.Call) int {
	o := c.Parse("+ 0,null a,arg-file= d,delimiter= E= e,eof=? I= i,replace=? L= l,max-lines=? n,max-args= p,interactive P,max-procs= r,no-run-if-empty s,max-chars= t,verbose x,exit !o,open-tty !process-slot-var= !show-limits")
	x := &xargsRun{c: c, o: o, command: o.Args, most: math.MaxInt, chars: 128 << 10, parallel: 1}
	if len(x.command) == 0 {
		x.command = []string{"echo"}
	}
	for name, to := range map[string]*int{"n": &x.most, "L": &x.lines, "l": &x.lines, "s": &x.chars, "P": &x.parallel} {
		if !o.On(name) {
			continue
		}
		n, ok := command.Atoi(o.Value(name, ""))
		if name == "l" && o.Value("l", "") == "" {
			n, ok = 1, true
		}
		if !ok {
			return c.Die(1, "invalid number %q for -%s option", o.Value(name, ""), name)
		}
		if n < 1 && name != "P" {
			return c.Die(1, "value %d for -%s option should be >= 1", n, name)
		}
		*to = n
	}
	if x.parallel < 1 || x.parallel > 16 {
		x.parallel = 16
	}
	if o.On("I") || o.On("i") {
		if x.replace = o.Value("I", o.Value("i", "")); x.replace == "" {
			x.replace = "{}"
		}
	}
	x.exclusive()
	in := c.In()
	var r interface{ ReadByte() (byte, error) } = in
	if name := o.Value("a", ""); name != "" {
		f, err := c.Open(name)
		c.Need(err, 1, "Cannot open input file %s", command.Quote(name))
		c.Files = append(c.Files, f)
		r = c.Lines(f, '\n').R
	}
	return x.run(r)
}

// exclusive has the last one of -I, -n and -L hold. -n 1 after -I changes nothing.
func (x *xargsRun) exclusive() {
	long := map[string]string{"I": "--replace", "n": "--max-args", "L": "--max-lines"}
	full := map[string]string{"I": "--replace/-I/-i", "n": "--max-args/-n", "L": "-L"}
	before := ""
	for _, p := range x.o.Set {
		name := cmp.Or(map[string]string{"i": "I", "l": "L"}[p.Name], p.Name)
		if long[name] == "" || name == "n" && before == "I" && x.most == 1 {
			continue
		}
		if before != "" && before != name {
			x.c.Errorf("warning: options %s and %s are mutually exclusive, ignoring previous %s value", long[before], full[name], long[before])
		}
		before = name
	}
	if before != "I" && before != "" {
		x.replace = ""
	}
	if before != "n" {
		x.most = math.MaxInt
	}
	if before != "L" {
		x.lines = 0
	}
}

type xargsRun struct {
	c        *command.Call
	o        *command.Options
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
	switch d := x.o.Value("d", ""); {
	case x.o.On("0"):
		s.delim = 0
	case d != "":
		text, _, _ := printf.CEscape(d+" ", false)
		if d[0] != '\\' {
			text = d
		}
		s.delim = int(text[0])
	}
	eof := x.o.Value("E", x.o.Value("e", ""))
	for !x.stop && !x.c.Stopped() {
		arg, ok, err := s.next()
		if err != nil {
			x.c.Errorf("%s", err)
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
	if len(x.args) > 0 || !x.ran && !x.o.On("r") && x.replace == "" && x.status == 0 {
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
	if x.o.On("t") || x.o.On("p") {
		x.c.Warnf("%s\n", strings.Join(args, " "))
	}
	for len(x.running) >= x.parallel {
		x.reap()
	}
	null, _ := x.c.OpenFile("/dev/null", abi.O_RDONLY, 0)
	ch := command.Child{Args: args}
	if null != nil {
		ch.Files = map[int]*memfs.File{0: null.F}
		defer null.Close()
	}
	p, err := x.c.Start(ch)
	if err != nil {
		x.c.Errorf("%s: %s", args[0], command.Text(err))
		x.status, x.stop = command.NotStarted(err), true
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
	s, ok := x.c.Wait(x.c.Ctx, p)
	switch {
	case !ok:
		x.c.Process.Kill(p.PID(), kernel.SIGKILL)
		x.stop = true
	case s.Signal() != 0:
		x.c.Errorf("%s: terminated by signal %d", command.Base(p.Path), s.Signal())
		x.status, x.stop = 125, true
	case s.Code() == 255:
		x.c.Errorf("%s: exited with status 255; aborting", command.Base(p.Path))
		x.status, x.stop = 124, true
	case s.Code() != 0:
		x.status = 123
	}
}

// xargsScanner splits the input into arguments.
type xargsScanner struct {
	c         *command.Call
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
