package shell

import (
	"errors"
	"fmt"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// simple runs a simple command: assignments, a function, a builtin or a program.
func (sh *shell) simple(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	replace := sh.execs
	sh.execs, sh.substatus = false, 0
	args, err := sh.ex.Fields(c.Args)
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
		if errors.Is(err, expand.ErrSubstitution) {
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
		return sh.ex.AssignArray(name, as.Array, as.Append, false)
	}
	s, err := sh.ex.AssignedValue(as.Value)
	if err != nil {
		return err
	}
	sh.traceAssign(as, s)
	if as.Index != nil {
		return sh.ex.AssignIndex(name, as.Index, s, as.Append)
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

// call runs a command in the scope of the assignments before it, nil for none.
func (sh *shell) call(before *vars.Scope, args []string) {
	if before != nil {
		sh.vars.Scope = before
		defer func() { sh.vars.Scope = sh.vars.Scope.Parent }()
	}
	if f := sh.state.Functions[args[0]]; f != nil {
		sh.execs = false
		sh.callFunction(f, args)
		return
	}
	sh.run(args)
}

// run runs a builtin or a program.
func (sh *shell) run(args []string) {
	if b := commands[args[0]]; b != nil && !sh.state.Disabled[args[0]] {
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
		value, err := sh.ex.AssignedValue(as.Value)
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

func (sh *shell) callFunction(f *parse.Function, args []string) {
	params, src, loops, line, options := sh.state.Params, sh.src, sh.loops, sh.line, sh.opts
	sh.calls = append(sh.calls, call{args[0], f.Src.Name, sh.line})
	sh.vars.Scope = &vars.Scope{Vars: map[string]*vars.Variable{}, Parent: sh.vars.Scope}
	sh.state.Params, sh.src, sh.loops = args[1:], f.Src, 0
	callers := sh.hideTraps()
	sh.stmt(f.Body)
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
	sh.state.Params, sh.src, sh.loops, sh.line = params, src, loops, line
	sh.failed(f.Body)
}

// importFunction makes a function of the environment.
func (sh *shell) importFunction(name, s string) {
	err := sh.first(&parse.Source{Text: name + " " + s, Name: "environment", First: 1}, func(st *syntax.Stmt) {
		if c, ok := st.Cmd.(*syntax.FuncDecl); ok && c.Name != nil && c.Name.Value == name {
			sh.declare(c)
			sh.state.Functions[name].Exported = true
		}
	})
	if err != nil {
		delete(sh.state.Functions, name)
	}
}

// assignList assigns the text of a list.
func (sh *shell) assignList(name, s string, add, assoc bool) (err error) {
	if e := sh.first(&parse.Source{Text: name + "=" + s, Name: sh.src.Name, First: sh.line}, func(st *syntax.Stmt) {
		if c, ok := st.Cmd.(*syntax.CallExpr); ok && len(c.Assigns) == 1 && c.Assigns[0].Array != nil {
			err = sh.ex.AssignArray(name, c.Assigns[0].Array, add, assoc)
		}
	}); e != nil {
		return fmt.Errorf("%s: bad array value", name)
	}
	return err
}

// first calls f with the first statement of a text, which is the shell's meanwhile.
func (sh *shell) first(src *parse.Source, f func(*syntax.Stmt)) error {
	old := sh.src
	defer func() { sh.src = old }()
	sh.src = src
	return src.Statements(dialect{sh}, func(st *syntax.Stmt) bool {
		f(st)
		return false
	})
}

// declare makes a function.
func (sh *shell) declare(c *syntax.FuncDecl) {
	if c.Name == nil { // the parser takes "() true"
		sh.errorf("syntax error near unexpected token `)'")
		sh.status = 2
		return
	}
	name := c.Name.Value
	sh.status = 0
	if old := sh.state.Functions[name]; old != nil && old.ReadOnly {
		sh.status = sh.fail("%s: readonly function", name)
		return
	}
	sh.state.Functions[name] = &parse.Function{Body: c.Body, Src: sh.src, Text: sh.src.Of(c.Body)}
}
