// Package awk is the language awk: a lexer, a parser and an evaluator of the tree,
// with the extensions of gawk that scripts use. Its files and commands are those of
// the process that it runs in.
package awk

import (
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// special are the variables that awk itself reads or sets, in the order of
// their slots.
var special = []string{"NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "SUBSEP", "RSTART", "RLENGTH",
	"CONVFMT", "OFMT", "ENVIRON", "ARGC", "ARGV", "RT", "PROCINFO", "FPAT", "IGNORECASE", "FIELDWIDTHS", "ERRNO"}

const (
	varNF = iota
	varNR
	varFNR
	varFS
	varOFS
	varORS
	varRS
	varFILENAME
	varSUBSEP
	varRSTART
	varRLENGTH
	varCONVFMT
	varOFMT
	varENVIRON
	varARGC
	varARGV
	varRT
	varPROCINFO
	varFPAT
	varIGNORECASE
	varFIELDWIDTHS
	varERRNO
)

// run is a running program.
type run struct {
	c       *command.Call
	prog    *program
	globals []cell
	frame   []*cell // parameters of the running function
	depth   int     // of calls
	place   int     // the line of the running statement

	record  string
	fields  []value // from 1
	nf      int
	split   bool // fields are those of the record
	stale   bool // the record is not that of the fields
	fs, rs  string
	fsExpr  regex.Pattern
	fpat    regex.Pattern // what fields match; nil: FS separates them
	widths  []width       // of the fields; nil: they are not cut by width
	fold    bool          // IGNORECASE is set
	convfmt string
	ofs     string
	subsep  string

	input   *inputs
	streams map[string]*stream
	regexes map[string]regex.Pattern
	seed    float64
	random  random
	steps   int
	held    int64 // bytes of arrays, in part reserved
	charged int64
	ret     value
	rtSet   bool
}

// Errors that change the flow of a program.
var (
	errNext     = errors.New("`next' used in BEGIN or END action")
	errNextFile = errors.New("`nextfile' used in BEGIN or END action")
	errBreak    = errors.New("`break' is not allowed outside a loop or switch")
	errContinue = errors.New("`continue' is not allowed outside a loop")
	errReturn   = errors.New("return")
)

// exitError is the statement exit.
type exitError struct{ status int }

func (*exitError) Error() string { return "exit" }

// Main is awk: it scans its input for patterns and processes what matches.
func Main(c *command.Call) int {
	o := c.Parse("+ F,field-separator= v,assign= f,file= e,source= W= posix traditional re-interval !b,characters-as-bytes O,optimize !S,sandbox")
	var src source
	for _, p := range o.Set {
		switch p.Name {
		case "e":
			src.add("cmd. line", p.Value)
		case "f":
			data, err := c.ReadFile(p.Value)
			if err != nil {
				return c.Die(2, "fatal: cannot open source file `%s' for reading: %s", p.Value, command.Text(err))
			}
			src.add(p.Value, string(data))
		}
	}
	if src.parts == nil {
		if len(o.Args) == 0 {
			c.Warnf("usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]\n")
			return 2
		}
		src.add("cmd. line", o.Args[0])
		o.Args = o.Args[1:]
	}
	prog, err := parseAwk(src.text)
	if err != nil {
		return src.refuse(c, err.(*mistake))
	}
	prog.source = &src
	r := newRun(c, prog, o.Args)
	for _, p := range o.Set {
		switch p.Name {
		case "v":
			if !r.assignment(p.Value) {
				return c.Die(2, "improper assignment: -v %s", p.Value)
			}
		case "F":
			r.assignment("FS=" + p.Value)
		}
	}
	return r.run()
}

func newRun(c *command.Call, prog *program, args []string) *run {
	r := &run{
		c: c, prog: prog, globals: make([]cell, len(prog.globals)), split: true,
		streams: map[string]*stream{}, regexes: map[string]regex.Pattern{}, convfmt: "%.6g", ofs: " ", subsep: "\x1c", fs: " ", rs: "\n",
		random: random{1}, seed: 1,
	}
	for slot, s := range map[int]string{varFS: " ", varOFS: " ", varORS: "\n", varRS: "\n", varSUBSEP: "\x1c", varCONVFMT: "%.6g", varOFMT: "%.6g", varFILENAME: "", varRT: ""} {
		r.globals[slot].v = str(s)
	}
	for slot, n := range map[int]float64{varNR: 0, varFNR: 0, varNF: 0, varRSTART: 0, varRLENGTH: -1, varARGC: float64(len(args) + 1)} {
		r.globals[slot].v = num(n)
	}
	for _, e := range c.Process.Env {
		k, v, _ := strings.Cut(e, "=")
		r.globals[varENVIRON].arr().set(k, value{kind: input, s: v})
	}
	argv := r.globals[varARGV].arr()
	for i, a := range append([]string{"awk"}, args...) {
		argv.set(fmt.Sprint(i), value{kind: input, s: a})
	}
	r.globals[varPROCINFO].arr()
	r.input = &inputs{r: r, next: 1}
	return r
}

// assignment performs "name=value", with the escapes of a string constant.
func (r *run) assignment(arg string) bool {
	name, written, ok := strings.Cut(arg, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' || strings.ContainsFunc(name, func(ch rune) bool { return ch > 127 || !regex.WordByte(byte(ch)) }) {
		return false
	}
	var b strings.Builder
	for i := 0; i < len(written); {
		if written[i] == '\\' {
			t, n := unescape(written[i:])
			b.WriteString(t)
			i += n
			continue
		}
		b.WriteByte(written[i])
		i++
	}
	if slot, ok := r.prog.globals[name]; ok {
		r.setGlobal(slot, value{kind: input, s: b.String()})
	}
	return true
}

// setGlobal assigns to a global variable, and takes note of special ones.
func (r *run) setGlobal(slot int, v value) {
	if slot == varNF {
		r.setNF(int(v.num()))
		return
	}
	if slot == varFS || slot == varFPAT || slot == varFIELDWIDTHS {
		r.splitFields() // it is for the next record
	}
	r.globals[slot].v = v
	switch slot {
	case varFS:
		r.fs, r.fsExpr, r.fpat, r.widths = v.str(r.convfmt), nil, nil, nil
	case varFIELDWIDTHS:
		r.widths, r.fpat = fieldWidths(v.str(r.convfmt)), nil
	case varFPAT:
		r.widths = nil
		if r.fpat, _ = r.regex(v.str(r.convfmt)); v.str(r.convfmt) == "" {
			r.fpat = nil
		}
	case varRS:
		r.rs, r.rtSet = v.str(r.convfmt), false
	case varIGNORECASE:
		r.fold, r.fsExpr, r.rtSet = v.truth(), nil, false
		clear(r.regexes)
	case varOFS:
		r.ofs = v.str(r.convfmt)
	case varSUBSEP:
		r.subsep = v.str(r.convfmt)
	case varCONVFMT:
		r.convfmt = v.str(r.convfmt)
	}
}

// run runs the whole program.
func (r *run) run() int {
	err := r.main()
	status := 0
	var exit *exitError
	if errors.As(err, &exit) {
		status, err = exit.status, nil
	}
	r.closeAll()
	switch {
	case err == nil || errors.Is(err, command.ErrStopped) || r.c.Ctx.Err() != nil:
	default:
		var missing *missingFile
		if errors.As(err, &missing) {
			return r.c.Die(2, "fatal: %s", err)
		}
		return r.c.Die(2, "%sfatal: %s", r.where(), command.Text(err))
	}
	return status
}

// where returns the line of the program that is executed, and the record.
func (r *run) where() string {
	place := r.prog.source.place(r.place)
	if fnr := r.globals[varFNR].v.num(); fnr > 0 {
		name := r.globals[varFILENAME].v.str("")
		if name == "" {
			name = "-"
		}
		place += fmt.Sprintf("(FILENAME=%s FNR=%d) ", name, int(fnr))
	}
	return place
}

func (r *run) main() (err error) {
	err = r.blocks(r.prog.begin)
	var exit *exitError
	if err == nil && (len(r.prog.rules) > 0 || len(r.prog.end) > 0 || len(r.prog.beginFile) > 0 || len(r.prog.endFile) > 0) {
		err = r.records()
	}
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	for _, b := range r.prog.end {
		if e := r.block(b); e != nil {
			var again *exitError
			if errors.As(e, &again) && exit != nil && again.status == 0 {
				return exit
			}
			return e
		}
	}
	return err
}

// blocks runs the blocks of all rules of a kind.
func (r *run) blocks(list [][]*node) error {
	for _, b := range list {
		if err := r.block(b); err != nil {
			return err
		}
	}
	return nil
}

// records runs the rules on every record.
func (r *run) records() error {
	for {
		record, ok, err := r.input.read()
		if !ok || err != nil {
			return err
		}
		r.setRecord(record)
		for _, rule := range r.prog.rules {
			if err = r.rule(rule); err != nil {
				break
			}
		}
		switch err {
		case nil, errNext:
		case errNextFile:
			if err := r.input.end(); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (r *run) rule(rule *rule) error {
	if rule.from != nil && !rule.active {
		r.place = rule.line
		v, err := r.eval(rule.from)
		if err != nil || !v.truth() {
			return err
		}
		rule.active = rule.to != nil
	}
	if rule.active {
		v, err := r.eval(rule.to)
		if err != nil {
			return err
		}
		rule.active = !v.truth()
	}
	if rule.bare {
		return r.print(&node{op: "print"})
	}
	return r.block(rule.body)
}

// regex compiles a dynamic expression once.
func (r *run) regex(source string) (regex.Pattern, error) {
	if p := r.regexes[source]; p != nil {
		return p, nil
	}
	p, err := regex.Dialect{Extended: true, Escapes: true, Octal: true, Fold: r.fold}.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("invalid regexp: %s: /%s/", err, source)
	}
	if len(r.regexes) > 500 {
		clear(r.regexes)
	}
	r.regexes[source] = p
	return p, nil
}

// hold charges what an array or a string takes.
func (r *run) hold(n int64) error {
	if r.held += n; r.held > r.charged {
		if err := r.c.Reserve(1 << 20); err != nil {
			return err
		}
		r.charged += 1 << 20
	}
	return nil
}

// room checks that a string of n bytes is within the budget.
func (r *run) room(n int) error {
	if n < 1<<20 {
		return nil
	}
	if err := r.c.Reserve(int64(n)); err != nil {
		return err
	}
	r.c.Release(int64(n))
	return nil
}
