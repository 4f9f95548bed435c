package builtins

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// declaration is what declare, local, export or readonly is to do.
type declaration struct {
	command     string
	on, off     vars.Attrs
	kind        vars.Kind
	global      bool
	print       bool
	functions   bool
	names       bool // declare -F
	local       bool
	inherit     bool // local -I
	anyFlag     bool
	withoutRest bool // export -n

	words []string // what a trace shows; nil: it has been shown
}

// operand is a name that is declared, with what it is assigned.
type operand struct {
	name  string
	as    *syntax.Assign // its value; nil: none
	value *string        // likewise, of a text
	pairs []vars.Pair    // the elements of as
}

// DeclareClause runs declare and its like where the parser knows their assignments.
func DeclareClause(sh Shell, c *syntax.DeclClause) int {
	d := &declaration{command: c.Variant.Value}
	d.words = []string{d.command}
	var flags []string
	var list []operand
	for _, as := range c.Args {
		switch {
		case as.Name == nil:
			words, err := sh.Expander().Fields([]*syntax.Word{as.Value})
			if err != nil {
				sh.Discard(err)
				return sh.JumpStatus()
			}
			for _, w := range words {
				if len(list) == 0 && len(w) > 1 && (w[0] == '-' || w[0] == '+') {
					flags = append(flags, w)
					d.words = append(d.words, w)
				} else {
					list = append(list, textOperand(w))
				}
			}
		case as.Naked:
			list = append(list, operand{name: as.Name.Value})
		default:
			list = append(list, operand{name: as.Name.Value, as: as})
		}
	}
	return declareAll(sh, d, flags, list)
}

// declare runs them as a command whose words are expanded already.
func declare(sh Shell, args []string) int {
	d := &declaration{command: args[0]}
	var flags []string
	var list []operand
	for _, w := range args[1:] {
		if len(list) == 0 && len(w) > 1 && (w[0] == '-' || w[0] == '+') {
			flags = append(flags, w)
		} else {
			list = append(list, textOperand(w))
		}
	}
	return declareAll(sh, d, flags, list)
}

func textOperand(w string) operand {
	name, value, ok := strings.Cut(w, "=")
	if !ok {
		return operand{name: w}
	}
	return operand{name: name, value: &value}
}

func declareAll(sh Shell, d *declaration, flags []string, list []operand) int {
	inFunction := sh.Vars().FunctionScope() != nil
	if !declareFlags(sh, d, flags) {
		return 2
	}
	d.local = d.command == "local" || inFunction && !d.global && d.command != "export" && d.command != "readonly"
	if d.words != nil {
		if err := declaredValues(sh, d, list); err != nil {
			if e, ok := err.(*vars.Error); ok && e.Fatal {
				sh.Discard(err)
			} else {
				sh.ReportIn(d.command, err)
			}
			return 1
		}
		sh.TraceCommand(d.words)
	}
	switch d.command {
	case "local":
		if !inFunction {
			return fail(sh, "local: can only be used in a function")
		}
	case "export":
		if !d.withoutRest {
			d.on |= vars.Exported
		}
	case "readonly":
		d.on |= vars.ReadOnly
	}
	switch {
	case d.functions:
		return declareFunctions(sh, d, list)
	case d.print || len(list) == 0:
		return printVariables(sh, d, list)
	}
	status := 0
	for _, o := range list {
		if err := declareOne(sh, d, o); err != nil {
			status = 1
			if e, ok := err.(*vars.Error); ok && e.Fatal {
				sh.Discard(err)
				return status
			}
			if d.command != "export" && d.command != "readonly" && errors.Is(err, vars.ErrReadOnly) {
				err = errors.New(err.Error()) // the command's own
			}
			sh.ReportIn(d.command, err)
			if _, ok := err.(*vars.Error); ok && sh.DropLine() { // of declare -i
				return status
			}
		}
	}
	if status == 0 {
		status = sh.JumpStatus()
	}
	return status
}

func declareFlags(sh Shell, d *declaration, flags []string) bool {
	letters := map[byte]vars.Attrs{'i': vars.Integer, 'l': vars.Lower, 'u': vars.Upper, 'r': vars.ReadOnly, 'x': vars.Exported, 'n': vars.NameRef}
	for _, f := range flags {
		if f == "--" {
			break
		}
		for i := 1; i < len(f); i++ {
			c := f[i]
			attr, ok := letters[c]
			switch {
			case d.command == "export" && c == 'n':
				d.off, d.withoutRest = d.off|vars.Exported, true
			case ok && f[0] == '+':
				d.off |= attr
			case ok:
				d.on |= attr
			case c == 'a':
				d.kind = vars.Indexed
			case c == 'A':
				d.kind = vars.Associative
			case c == 'g':
				d.global = true
			case c == 'p':
				d.print = true
			case c == 'f':
				d.functions = true
			case c == 'F':
				d.functions, d.names = true, true
			case c == 'I':
				d.inherit = true
			case c == 't':
			default:
				Usage(sh, d.command, f[:1]+string(c)+": invalid option")
				return false
			}
			d.anyFlag = true
		}
	}
	return true
}

// declareOne declares one name.
func declareOne(sh Shell, d *declaration, o operand) error {
	name, sub, hasSub := parse.CutSubscript(o.name)
	add := strings.HasSuffix(name, "+") && o.value != nil
	name = strings.TrimSuffix(name, "+")
	if d.command == "local" && name == "-" {
		sh.Vars().FunctionScope().LocalOptions = true
		return nil
	}
	if !parse.ValidName(name) {
		return fmt.Errorf("`%s': not a valid identifier", o.text())
	}
	if d.on&vars.NameRef == 0 && !d.local {
		name, _ = sh.Vars().Resolve(name)
	}
	if sh.Options().Xtrace && o.value != nil && !d.local && (d.command == "export" || d.command == "readonly") {
		sh.Trace(o.name + "=" + quote.Traced(*o.value))
	}
	v, err := declared(sh, d, name)
	if err != nil {
		return err
	}
	if v.Attrs&vars.ReadOnly != 0 && (o.as != nil || o.value != nil) {
		return fmt.Errorf("%s: %w", name, vars.ErrReadOnly)
	}
	if err := sh.Vars().Convert(name, v, d.kind); err != nil {
		return err
	}
	v.Attrs = v.Attrs&^d.off | d.on&^vars.ReadOnly
	if d.on&vars.Lower != 0 {
		v.Attrs &^= vars.Upper
	}
	if d.on&vars.Upper != 0 {
		v.Attrs &^= vars.Lower
	}
	if err := assignOperand(sh, d, o, name, sub, hasSub, add, v); err != nil {
		return err
	}
	v.Attrs |= d.on
	return nil
}

func (o operand) text() string {
	switch {
	case o.value != nil:
		return o.name + "=" + *o.value
	}
	return o.name
}

// declared returns the variable to declare, a new one for a local one.
func declared(sh Shell, d *declaration, name string) (*vars.Variable, error) {
	in := sh.Vars().Global()
	if d.local {
		in = sh.Vars().FunctionScope()
	} else if v, s := sh.Vars().Scope.Find(name); v != nil && !d.global {
		if !s.Temporary {
			return v, nil
		}
		if s.Parent != nil { // export of what is before the command
			copied := *v
			sh.Vars().Global().Vars[name] = &copied
			return v, nil
		}
	}
	if v := in.Vars[name]; v != nil {
		return v, nil
	}
	v := &vars.Variable{}
	if old, s := sh.Vars().Scope.Find(name); old != nil && d.local {
		if old.Attrs&vars.ReadOnly != 0 && s.Parent == nil {
			return nil, fmt.Errorf("%s: %w", name, vars.ErrReadOnly)
		}
		if v.Attrs = old.Attrs & vars.Exported; d.inherit || s.Temporary {
			*v = old.Copy()
		}
	}
	in.Vars[name] = v
	return v, nil
}
