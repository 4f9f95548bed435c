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

// run is a running program: its statements and expressions.
type run struct {
	*settings
	prog    *program
	globals []cell
	frame   []*cell // parameters of the running function
	place   int     // the line of the running statement

	record  *record
	input   *inputs
	streams *streams
	seed    float64
	random  random
	steps   int
	ret     value
}

// settings are what the whole of a running program uses: its memory, and what its
// special variables say of strings and expressions.
type settings struct {
	*memory
	rs       string
	convfmt  string
	ofs      string
	subsep   string
	fold     bool // IGNORECASE is set
	regexes  map[string]regex.Pattern
	compiled int64 // bytes of regexes
}

// maxCompiled bounds the regular expressions that are kept.
const maxCompiled = 32 << 20

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
	prog, err := parseAwk(c, src.text)
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
	s := &settings{memory: &memory{c: c}, rs: "\n", convfmt: "%.6g", ofs: " ", subsep: "\x1c", regexes: map[string]regex.Pattern{}}
	r := &run{settings: s, prog: prog, globals: make([]cell, len(prog.globals)), random: random{1}, seed: 1}
	r.record = &record{settings: s, split: true, fs: " ", nf: &r.globals[varNF].v}
	r.streams = &streams{memory: s.memory, open: map[string]*stream{}}
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
		r.c.Must(r.setGlobal(slot, value{kind: input, s: b.String()}))
	}
	return true
}

// setGlobal assigns to a global variable, and takes note of special ones.
func (r *run) setGlobal(slot int, v value) error {
	if slot == varNF {
		return r.record.setNF(int(v.num()))
	}
	if slot == varFS || slot == varFPAT || slot == varFIELDWIDTHS {
		if err := r.record.splitFields(); err != nil { // it is for the next record
			return err
		}
	}
	g := &r.globals[slot]
	if err := r.set(&g.v, &g.charged, v); err != nil {
		return err
	}
	f := r.record
	switch slot {
	case varFS:
		f.fs, f.fsExpr, f.fpat, f.widths = v.str(r.convfmt), nil, nil, nil
	case varFIELDWIDTHS:
		f.widths, f.fpat = fieldWidths(v.str(r.convfmt)), nil
	case varFPAT:
		f.widths = nil
		if f.fpat, _ = r.regex(v.str(r.convfmt)); v.str(r.convfmt) == "" {
			f.fpat = nil
		}
	case varRS:
		r.rs = v.str(r.convfmt)
	case varIGNORECASE:
		r.fold, f.fsExpr = v.truth(), nil
		clear(r.regexes)
	case varOFS:
		r.ofs = v.str(r.convfmt)
	case varSUBSEP:
		r.subsep = v.str(r.convfmt)
	case varCONVFMT:
		r.convfmt = v.str(r.convfmt)
	}
	return nil
}

// run runs the whole program.
func (r *run) run() int {
	err := r.main()
	status := 0
	var exit *exitError
	if errors.As(err, &exit) {
		status, err = exit.status, nil
	}
	r.streams.closeAll()
	r.input.skip()
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
		if err := r.record.set(record); err != nil {
			return err
		}
		r.transient = 0
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
func (r *settings) regex(source string) (regex.Pattern, error) {
	if p := r.regexes[source]; p != nil {
		return p, nil
	}
	if len(r.regexes) > 500 || r.compiled > maxCompiled {
		clear(r.regexes)
		r.hold(-r.compiled)
		r.compiled = 0
	}
	limits := regex.Limits{Ctx: r.c.Ctx, Hold: func(n int) error {
		r.compiled += int64(n)
		return r.hold(int64(n))
	}}
	p, err := regex.Dialect{Extended: true, Escapes: true, Octal: true, Fold: r.fold, Limits: limits}.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("invalid regexp: %s: /%s/", err, source)
	}
	r.regexes[source] = p
	return p, nil
}
