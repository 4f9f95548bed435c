package shell

import (
	"errors"
	"fmt"
	"strconv"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// simple runs a simple command: assignments, a function, a builtin or a program.
func (sh *shell) simple(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	replace := sh.execs
	sh.execs, sh.substatus = false, 0
	args, err := sh.fields(c.Args)
	if err != nil {
		sh.discard(err)
		return
	}
	if sh.stopped() {
		return
	}
	var before *vars.Scope
	if len(args) > 0 {
		if before, err = sh.temporary(c.Assigns); err != nil {
			sh.discard(err)
			return
		}
		if sh.stopped() {
			return
		}
		sh.traceCommand(args)
	}
	undo, err := sh.redirect(redirs)
	if err != nil {
		if errors.Is(err, errSubstitution) {
			sh.discard(err)
		} else {
			sh.report(err)
			sh.status = 1
		}
		sh.files.Restore(undo)
		return
	}
	if len(args) == 0 {
		if sh.assignments(c.Assigns) {
			sh.status = sh.substatus
		}
		sh.files.Restore(undo)
		return
	}
	if args[0] == "exec" && len(args) == 1 {
		sh.files.Keep(undo)
		sh.status = 0
		return
	}
	sh.execs = replace
	sh.call(before, args)
	sh.files.Restore(undo)
	sh.lastArg = args[len(args)-1]
	if args[0] != "return" && args[0] != "exit" && sh.jump.kind == 0 {
		sh.pipeStatus = []int{sh.status}
	}
}

// assignments makes the assignments of a command that is nothing else. It reports
// whether they succeeded.
func (sh *shell) assignments(list []*syntax.Assign) bool {
	for _, as := range list {
		if err := sh.assignTo(as); err != nil {
			sh.discard(err)
			return false
		}
	}
	return true
}

// assignTo makes one assignment.
func (sh *shell) assignTo(as *syntax.Assign) error {
	name := as.Name.Value
	if as.Array != nil {
		sh.traceArray(as)
		return sh.assignArray(name, as.Array, as.Append, false)
	}
	s, err := sh.assignedValue(as.Value)
	if err != nil {
		return err
	}
	sh.traceAssign(as, s)
	if as.Index != nil {
		return sh.assignIndex(name, as.Index, s, as.Append)
	}
	if !as.Append {
		return sh.vars.Set(name, s)
	}
	name, sub := sh.vars.Resolve(name)
	if sub != "" {
		return sh.vars.SetText(name, sub, s, true)
	}
	v, err := sh.vars.Writable(name)
	if err != nil {
		return err
	}
	return sh.vars.Assign(name, v, s, true)
}

// assignIndex assigns to name[index].
func (sh *shell) assignIndex(name string, index syntax.ArithmExpr, s string, add bool) error {
	name, _ = sh.vars.Resolve(name)
	if v := sh.vars.Lookup(name); v != nil && v.Kind == vars.Associative {
		key, err := sh.key(index)
		if err == nil && key == "" {
			sub := sh.src.Of(index)
			if sub == `""` && sh.src.Rewritten() { // which requote puts there
				sub = ""
			}
			err = fmt.Errorf("%s[%s]: %w", name, sub, vars.ErrSubscript)
		}
		if err != nil {
			return err
		}
		return sh.vars.SetElement(name, key, s, add)
	}
	n, err := sh.arithm(index)
	if err != nil {
		return err
	}
	return sh.vars.SetElement(name, strconv.FormatInt(n, 10), s, add)
}

// assignArray assigns (a b [5]=c).
func (sh *shell) assignArray(name string, x *syntax.ArrayExpr, add, assoc bool) error {
	name, _ = sh.vars.Resolve(name)
	v, err := sh.vars.Writable(name)
	if err != nil {
		return err
	}
	old := *v
	if assoc = assoc || v.Kind == vars.Associative; !add {
		sh.Charge(v, 0)
		v.List, v.Table, v.Str = nil, nil, ""
	}
	switch {
	case assoc:
		v.Kind, v.IsSet = vars.Associative, true
		if v.Table == nil {
			v.Table = sh.vars.NewTable()
		}
	case v.Kind == vars.Scalar || v.List == nil:
		var list []string
		if add && v.IsSet && v.Kind == vars.Scalar {
			list = []string{v.Str}
		}
		v.Kind, v.IsSet, v.List, v.Str = vars.Indexed, true, sh.vars.NewArray(list), ""
	}
	fresh := *v
	*v = old // the elements' values may be the old ones
	if add || len(x.Elems) == 0 {
		*v = fresh
	}
	pairs, err := sh.arrayElements(x, fresh.Kind == vars.Associative)
	if err != nil {
		return err
	}
	if *v = fresh; v.List != nil {
		v.List = sh.vars.Own(v.List)
	}
	return sh.vars.Fill(name, v, pairs)
}

func (sh *shell) arrayElements(x *syntax.ArrayExpr, assoc bool) (pairs []vars.Pair, err error) {
	for i := 0; i < len(x.Elems); i++ {
		e := x.Elems[i]
		if e.Index == nil {
			list, err := sh.fields([]*syntax.Word{e.Value})
			if err != nil {
				return nil, err
			}
			for _, s := range list {
				pairs = append(pairs, vars.Pair{Value: s})
			}
			continue
		}
		p := vars.Pair{Keyed: true}
		if assoc {
			p.Key, err = sh.key(e.Index)
		} else {
			var n int64
			n, err = sh.arithm(e.Index)
			p.Key = strconv.FormatInt(n, 10)
		}
		if err != nil {
			return nil, err
		}
		if p.Value, err = sh.assignedValue(e.Value); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// call runs a command in the scope of the assignments before it, nil for none.
func (sh *shell) call(before *vars.Scope, args []string) {
	if before != nil {
		sh.vars.Scope = before
		defer func() { sh.vars.Scope = sh.vars.Scope.Parent }()
	}
	if f := sh.funcs[args[0]]; f != nil {
		sh.execs = false
		sh.callFunction(f, args)
		return
	}
	sh.run(args)
}

// run runs a builtin or a program.
func (sh *shell) run(args []string) {
	if b := builtins[args[0]]; b != nil && !sh.disabled[args[0]] {
		sh.execs = false
		sh.before, sh.status = sh.status, 0
		if status := b(sh, args); sh.jump.kind == 0 || status != 0 {
			sh.status = status
		}
		return
	}
	sh.external(args)
}

// temporary returns a scope with the assignments before a command, which are in its
// environment: each sees those before it, the command's redirections see none.
func (sh *shell) temporary(assigns []*syntax.Assign) (*vars.Scope, error) {
	if len(assigns) == 0 {
		return nil, nil
	}
	s := &vars.Scope{Vars: map[string]*vars.Variable{}, Parent: sh.vars.Scope, Temporary: true}
	sh.vars.Scope = s
	defer func() { sh.vars.Scope = s.Parent }()
	for _, as := range assigns {
		value, err := sh.assignedValue(as.Value)
		if err != nil {
			return nil, err
		}
		if as.Append {
			value = sh.vars.Get(as.Name.Value) + value
		}
		if sh.opts.Xtrace {
			sh.trace(as.Name.Value + "=" + quote.Traced(value))
		}
		if v, _ := sh.vars.Scope.Find(as.Name.Value); v != nil && v.Attrs&vars.ReadOnly != 0 {
			sh.report(fmt.Errorf("%s: %w", as.Name.Value, vars.ErrReadOnly)) // the command runs nevertheless
			continue
		}
		s.Vars[as.Name.Value] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: value}
	}
	return s, nil
}

func (sh *shell) callFunction(f *function, args []string) {
	params, src, loops, line, options := sh.params, sh.src, sh.loops, sh.line, sh.opts
	sh.calls = append(sh.calls, call{args[0], f.src.Name, sh.line})
	sh.vars.Scope = &vars.Scope{Vars: map[string]*vars.Variable{}, Parent: sh.vars.Scope}
	sh.params, sh.src, sh.loops = args[1:], f.src, 0
	callers := sh.hideTraps()
	sh.stmt(f.body)
	if sh.jump.kind == returns {
		sh.jump = jump{}
	}
	if s := sh.traps["RETURN"]; s != "" && !sh.trapping {
		sh.trap(s)
	}
	for name, s := range callers {
		if sh.traps[name] == "" {
			sh.traps[name] = s
		}
	}
	for _, v := range sh.vars.Scope.Vars {
		sh.Charge(v, 0)
	}
	if sh.vars.Scope.LocalOptions {
		sh.opts = options
	}
	sh.vars.Scope = sh.vars.Scope.Parent
	sh.calls = sh.calls[:len(sh.calls)-1]
	sh.params, sh.src, sh.loops, sh.line = params, src, loops, line
	sh.failed(f.body)
}
