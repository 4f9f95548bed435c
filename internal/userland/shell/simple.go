package shell

import (
	"errors"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/quote"
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
	var before *scope
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
		sh.restore(undo)
		return
	}
	if len(args) == 0 {
		if sh.assignments(c.Assigns) {
			sh.status = sh.substatus
		}
		sh.restore(undo)
		return
	}
	if args[0] == "exec" && len(args) == 1 {
		sh.keep(undo)
		sh.status = 0
		return
	}
	sh.execs = replace
	sh.call(before, args)
	sh.restore(undo)
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
		return sh.set(name, s)
	}
	name, sub := sh.resolve(name)
	if sub != "" {
		return sh.setText(name, sub, s, true)
	}
	v, err := sh.writable(name)
	if err != nil {
		return err
	}
	return sh.assign(name, v, s, true)
}

// assignIndex assigns to name[index].
func (sh *shell) assignIndex(name string, index syntax.ArithmExpr, s string, add bool) error {
	name, _ = sh.resolve(name)
	if v := sh.lookup(name); v != nil && v.kind == associative {
		key, err := sh.key(index)
		if err == nil && key == "" {
			sub := sh.src.Of(index)
			if sub == `""` && sh.src.Rewritten() { // which requote puts there
				sub = ""
			}
			err = errorf("%s[%s]: %w", name, sub, errSubscript)
		}
		if err != nil {
			return err
		}
		return sh.setElement(name, key, s, add)
	}
	n, err := sh.arithm(index)
	if err != nil {
		return err
	}
	return sh.setElement(name, itoa(n), s, add)
}

// assignArray assigns (a b [5]=c).
func (sh *shell) assignArray(name string, x *syntax.ArrayExpr, add, assoc bool) error {
	name, _ = sh.resolve(name)
	v, err := sh.writable(name)
	if err != nil {
		return err
	}
	old := *v
	if assoc = assoc || v.kind == associative; !add {
		sh.charge(v, 0)
		v.list, v.table, v.str = nil, nil, ""
	}
	switch {
	case assoc:
		v.kind, v.set = associative, true
		if v.table == nil {
			v.table = sh.newTable()
		}
	case v.kind == scalar || v.list == nil:
		var list []string
		if add && v.set && v.kind == scalar {
			list = []string{v.str}
		}
		v.kind, v.set, v.list, v.str = indexed, true, sh.newArray(list), ""
	}
	fresh := *v
	*v = old // the elements' values may be the old ones
	if add || len(x.Elems) == 0 {
		*v = fresh
	}
	pairs, err := sh.arrayElements(x, fresh.kind == associative)
	if err != nil {
		return err
	}
	if *v = fresh; v.list != nil {
		v.list = sh.own(v.list)
	}
	return sh.fill(name, v, pairs)
}

func (sh *shell) arrayElements(x *syntax.ArrayExpr, assoc bool) (pairs []pair, err error) {
	for i := 0; i < len(x.Elems); i++ {
		e := x.Elems[i]
		if e.Index == nil {
			list, err := sh.fields([]*syntax.Word{e.Value})
			if err != nil {
				return nil, err
			}
			for _, s := range list {
				pairs = append(pairs, pair{value: s})
			}
			continue
		}
		p := pair{keyed: true}
		if assoc {
			p.key, err = sh.key(e.Index)
		} else {
			var n int64
			n, err = sh.arithm(e.Index)
			p.key = itoa(n)
		}
		if err != nil {
			return nil, err
		}
		if p.value, err = sh.assignedValue(e.Value); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func (sh *shell) fill(name string, v *variable, pairs []pair) error {
	for i := 0; i < len(pairs); i++ {
		p := pairs[i]
		var err error
		switch {
		case v.kind == associative && !p.keyed: // (key value key value)
			value := ""
			if i+1 < len(pairs) {
				i++
				value = pairs[i].value
			}
			err = sh.setKey(name, v, p.value, value, false)
		case v.kind == associative:
			err = sh.setKey(name, v, p.key, p.value, false)
		case p.keyed:
			var n int64
			if n, err = sh.evaluate(p.key); err == nil {
				err = sh.setIndex(name, v, int(n), p.value, false)
			}
			if err == nil && i+1 < len(pairs) && !pairs[i+1].keyed {
				pairs[i+1].key, pairs[i+1].keyed = itoa(n+1), true
			}
		default:
			err = sh.setIndex(name, v, v.list.next(), p.value, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call runs a command in the scope of the assignments before it, nil for none.
func (sh *shell) call(before *scope, args []string) {
	if before != nil {
		sh.scope = before
		defer func() { sh.scope = sh.scope.parent }()
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
	if b := builtins[args[0]]; b != nil && !sh.plain["enable -n "+args[0]] {
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
func (sh *shell) temporary(assigns []*syntax.Assign) (*scope, error) {
	if len(assigns) == 0 {
		return nil, nil
	}
	s := &scope{vars: map[string]*variable{}, parent: sh.scope, temporary: true}
	sh.scope = s
	defer func() { sh.scope = s.parent }()
	for _, as := range assigns {
		value, err := sh.assignedValue(as.Value)
		if err != nil {
			return nil, err
		}
		if as.Append {
			value = sh.get(as.Name.Value) + value
		}
		if sh.opts.Xtrace {
			sh.trace(as.Name.Value + "=" + quote.Traced(value))
		}
		if v, _ := sh.scope.find(as.Name.Value); v != nil && v.attrs&readOnly != 0 {
			sh.report(errorf("%s: %w", as.Name.Value, errReadOnly)) // the command runs nevertheless
			continue
		}
		s.vars[as.Name.Value] = &variable{attrs: exported, set: true, str: value}
	}
	return s, nil
}

func (sh *shell) callFunction(f *function, args []string) {
	params, src, loops, line, options := sh.params, sh.src, sh.loops, sh.line, sh.opts
	sh.calls = append(sh.calls, call{args[0], f.src.Name, sh.line})
	sh.scope = &scope{vars: map[string]*variable{}, parent: sh.scope}
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
	for _, v := range sh.scope.vars {
		sh.charge(v, 0)
	}
	if sh.scope.localOptions {
		sh.opts = options
	}
	sh.scope = sh.scope.parent
	sh.calls = sh.calls[:len(sh.calls)-1]
	sh.params, sh.src, sh.loops, sh.line = params, src, loops, line
	sh.failed(f.body)
}
