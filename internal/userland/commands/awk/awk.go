// Package awk is the language awk: a lexer, a parser and an evaluator of the tree,
// with the extensions of gawk that scripts use. Its files and commands are those of
// the process that it runs in.
package awk

import (
	"cmp"
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
	status  int
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
			c.Need(err, 2, "fatal: cannot open source file `%s' for reading", p.Value)
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
		r.setGlobal(slot, value{kind: input, s: b.String()})
	}
	return true
}

// setGlobal assigns to a global variable, and takes note of special ones.
func (r *run) setGlobal(slot int, v value) {
	if slot == varNF {
		r.record.setNF(int(v.num()))
		return
	}
	if slot == varFS || slot == varFPAT || slot == varFIELDWIDTHS {
		r.record.splitFields() // it is for the next record
	}
	g := &r.globals[slot]
	r.set(&g.v, &g.charged, v)
	f := r.record
	switch slot {
	case varFS:
		f.fs, f.fsExpr, f.fpat, f.widths = v.str(r.convfmt), nil, nil, nil
	case varFIELDWIDTHS:
		f.widths, f.fpat = fieldWidths(v.str(r.convfmt)), nil
	case varFPAT:
		if f.widths, f.fpat = nil, nil; v.str(r.convfmt) != "" {
			f.fpat = r.regex(v.str(r.convfmt))
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
}

// run runs the whole program.
func (r *run) run() int {
	err := r.c.Catch(r.main)
	r.streams.closeAll()
	r.input.skip()
	switch {
	case err == nil:
		return r.status
	case errors.Is(err, command.ErrStopped) || r.c.Ctx.Err() != nil:
		return 0
	}
	var missing *missingFile
	if errors.As(err, &missing) {
		return r.c.Die(2, "fatal: %s", err)
	}
	return r.c.Die(2, "%sfatal: %s", r.where(), command.Text(err))
}

// where returns the line of the program that is executed, and the record.
func (r *run) where() string {
	place := r.prog.source.place(r.place)
	if fnr := r.globals[varFNR].v.num(); fnr > 0 {
		name := cmp.Or(r.globals[varFILENAME].v.str(""), "-")
		place += fmt.Sprintf("(FILENAME=%s FNR=%d) ", name, int(fnr))
	}
	return place
}

// main runs BEGIN, the rules and END, which exit skips but for END.
func (r *run) main() {
	p := r.prog
	went := r.top(func() flow { return r.blocks("BEGIN") })
	if went == onward && (p.rules != nil || p.blocks["END"] != nil || p.blocks["BEGINFILE"] != nil || p.blocks["ENDFILE"] != nil) {
		went = r.records()
	}
	if went == onward || went == exited {
		went = r.top(func() flow { return r.blocks("END") })
	}
	if misplaced[went] != "" {
		r.c.Check(left{went})
	}
}

// blocks runs the blocks of a kind.
func (r *run) blocks(kind string) flow {
	for _, b := range r.prog.blocks[kind] {
		if went := r.block(b); went != onward {
			return went
		}
	}
	return onward
}

// records runs the rules on every record.
func (r *run) records() flow {
	for {
		switch went := r.top(r.scan); went {
		case nextRecord:
		case nextFile:
			r.input.end()
		default:
			return went
		}
	}
}

// scan runs the rules on every record until a statement leaves them for more than the
// next record.
func (r *run) scan() flow {
	for {
		record, ok, err := r.input.read()
		r.c.Check(err)
		if !ok {
			return onward
		}
		r.record.set(record)
		r.transient = 0
		for _, rule := range r.prog.rules {
			if went := r.rule(rule); went == nextRecord {
				break
			} else if went != onward {
				return went
			}
		}
	}
}

func (r *run) rule(rule *rule) flow {
	if rule.from != nil && !rule.active {
		r.place = rule.line
		if !r.eval(rule.from).truth() {
			return onward
		}
		rule.active = rule.to != nil
	}
	if rule.active {
		rule.active = !r.eval(rule.to).truth()
	}
	if rule.bare {
		r.print(&node{op: "print"})
		return onward
	}
	return r.block(rule.body)
}

// regex compiles a dynamic expression once.
func (r *settings) regex(source string) regex.Pattern {
	if p := r.regexes[source]; p != nil {
		return p
	}
	if len(r.regexes) > 500 || r.compiled > maxCompiled {
		clear(r.regexes)
		r.hold(-r.compiled)
		r.compiled = 0
	}
	limits := regex.Limits{Ctx: r.c.Ctx, Hold: func(n int) error {
		r.compiled += int64(n)
		r.hold(int64(n))
		return nil
	}}
	p, err := regex.Dialect{Extended: true, Escapes: true, Octal: true, Fold: r.fold, Limits: limits}.Compile(source)
	if err != nil {
		r.c.Throw("invalid regexp: %s: /%s/", err, source)
	}
	r.regexes[source] = p
	return p
}
