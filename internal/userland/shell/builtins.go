package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// builtins are the commands of bash itself, by name. A builtin returns its status.
var builtins map[string]func(*shell, []string) int

func init() {
	builtins = map[string]func(*shell, []string) int{
		":": succeed, "true": succeed, "false": func(*shell, []string) int { return 1 },
		"echo": (*shell).echo, "printf": (*shell).printf, "read": (*shell).read,
		"mapfile": (*shell).mapfile, "readarray": (*shell).mapfile,
		"cd": (*shell).cd, "pwd": (*shell).pwd, "pushd": (*shell).pushd, "popd": (*shell).popd, "dirs": (*shell).dirsBuiltin,
		"eval": (*shell).eval, "source": (*shell).source, ".": (*shell).source, "exec": (*shell).exec,
		"exit": (*shell).exit, "logout": (*shell).exit, "return": (*shell).returnBuiltin,
		"break": (*shell).breakBuiltin, "continue": (*shell).breakBuiltin,
		"shift": (*shell).shift, "set": (*shell).setBuiltin, "unset": (*shell).unsetBuiltin, "shopt": (*shell).shopt,
		"declare": (*shell).declareBuiltin, "typeset": (*shell).declareBuiltin, "local": (*shell).declareBuiltin,
		"export": (*shell).declareBuiltin, "readonly": (*shell).declareBuiltin, "let": (*shell).letBuiltin,
		"trap": (*shell).trapBuiltin, "kill": (*shell).kill, "wait": (*shell).wait, "jobs": (*shell).jobsBuiltin, "disown": (*shell).disown,
		"type": (*shell).typeBuiltin, "command": (*shell).commandBuiltin, "builtin": (*shell).builtin, "hash": (*shell).hash, "enable": (*shell).enable,
		"getopts": (*shell).getoptsBuiltin, "test": (*shell).testCommand, "[": (*shell).testCommand,
		"umask": (*shell).umaskBuiltin, "ulimit": (*shell).ulimit, "times": (*shell).times, "caller": (*shell).caller,
		"alias": (*shell).aliasBuiltin, "unalias": (*shell).unalias, "help": (*shell).help,
		"compgen": (*shell).compgen, "complete": succeed, "compopt": succeed, "history": succeed,
	}
	for _, name := range strings.Fields("bg fg suspend fc bind") {
		builtins[name] = func(sh *shell, args []string) int {
			sh.errorf("%s: not supported: the shell has no terminal", args[0])
			return 1
		}
	}
}

// hash is the table of commands' paths, of which none is kept: looking one up takes
// no time here.
func (sh *shell) hash(args []string) int {
	status := 0
	for _, name := range args[1:] {
		if name[:min(1, len(name))] != "-" && sh.which(name) == "" && builtins[name] == nil {
			sh.errorf("hash: %s: not found", name)
			status = 1
		}
	}
	if len(args) == 1 {
		return sh.print("hash", "hash: hash table empty\n")
	}
	return status
}

func succeed(*shell, []string) int { return 0 }

func (sh *shell) eval(args []string) int {
	if args = args[1:]; len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if strings.TrimSpace(text) == "" {
		return 0
	}
	line := sh.line
	sh.evalText(text)
	sh.line = line
	return sh.status
}

// source is . and source: it runs a file in this shell.
func (sh *shell) source(args []string) int {
	if args = args[1:]; len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		sh.errorf("source: filename argument required")
		sh.write(2, "source: usage: source filename [arguments]\n")
		return 2
	}
	path := args[0]
	if !strings.Contains(path, "/") {
		for dir := range strings.SplitSeq(sh.vars.Get("PATH"), ":") {
			if n, e := sh.files.Lookup(dir+"/"+path, true); e == abi.OK && n.Type() == abi.S_IFREG {
				path = dir + "/" + path
				break
			}
		}
	}
	text, err := sh.readFile(path, maxScript)
	if err != nil {
		if sh.errorf("%v", err); len(text) == 0 && strings.Contains(err.Error(), "directory") && sh.files.IsDir(path) {
			return 1
		}
		return 1
	}
	params, line := sh.params, sh.line
	sh.calls = append(sh.calls, call{"source", path, sh.line})
	if len(args) > 1 {
		sh.params = args[1:]
	}
	sh.status = 0
	sh.runText(&parse.Source{Text: text, Name: path, First: 1}, "source")
	if sh.jump.kind == returns {
		sh.jump = jump{}
	}
	if len(args) > 1 {
		sh.params = params
	}
	sh.line = line
	sh.calls = sh.calls[:len(sh.calls)-1]
	return sh.status
}

// maxScript bounds a script, in bytes.
const maxScript = 16 << 20

// exec replaces the shell by a program.
func (sh *shell) exec(args []string) int {
	args = args[1:]
	env, name := sh.environ(), ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-c":
			env = nil
		case args[0] == "-l":
		case args[0] == "-a" && len(args) > 1:
			name, args = args[1], args[1:]
		case args[0] == "--":
		default:
			return sh.usage("exec", args[0]+": invalid option", "exec [-cl] [-a name] [command [argument ...]] [redirection ...]")
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	path, errno := sh.p.Kernel().LookPath(args[0], sh.files.Dir, []string{"PATH=" + sh.vars.Get("PATH")})
	if errno != abi.OK {
		text := message(errno)
		if errno == abi.ENOENT && !strings.Contains(args[0], "/") {
			text = "not found"
		}
		sh.errorf("exec: %s: %s", args[0], text)
		sh.status = 127
		if errno != abi.ENOENT {
			sh.status = 126
		}
		sh.jump = jump{kind: exits}
		return sh.status
	}
	e := kernel.Exec{Path: path, Args: slices.Clone(args), Env: env, Dir: sh.files.Dir, Umask: sh.files.Umask, Files: sh.files.Inherited()}
	if name != "" {
		e.Args[0] = name
	}
	if !sh.shared {
		if err := sh.p.Replace(e); err == nil {
			delete(sh.traps, "EXIT")
			sh.jump, sh.replaced = jump{kind: exits}, true
			return 0
		}
	}
	sh.external(args)
	delete(sh.traps, "EXIT")
	sh.jump = jump{kind: exits}
	return sh.status
}

func (sh *shell) exit(args []string) int {
	status := sh.before
	if sh.trapping {
		status = sh.trapStatus
	}
	if len(args) > 1 {
		n, err := strconv.ParseInt(strings.TrimSpace(args[1]), 10, 64)
		if err != nil {
			sh.errorf("exit: %s: numeric argument required", args[1])
			n = 2
		} else if len(args) > 2 {
			sh.errorf("exit: too many arguments")
			return 1
		}
		status = int(n & 0xff)
	}
	sh.status, sh.jump = status, jump{kind: exits}
	return status
}

func (sh *shell) returnBuiltin(args []string) int {
	if len(sh.calls) == 0 {
		sh.errorf("return: can only `return' from a function or sourced script")
		return 2
	}
	status := sh.before
	if len(args) > 1 {
		n, err := strconv.ParseInt(strings.TrimSpace(args[1]), 10, 64)
		if err != nil {
			sh.errorf("return: %s: numeric argument required", args[1])
			n = 2
		}
		status = int(n & 0xff)
	}
	sh.status, sh.jump = status, jump{kind: returns}
	return status
}

func (sh *shell) breakBuiltin(args []string) int {
	if sh.loops == 0 {
		sh.errorf("%s: only meaningful in a `for', `while', or `until' loop", args[0])
		return 0
	}
	n := 1
	if len(args) > 2 {
		sh.errorf("%s: too many arguments", args[0])
		sh.status, sh.jump = 1, jump{kind: discards}
		return 1
	}
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			sh.errorf("%s: %s: numeric argument required", args[0], args[1])
			sh.status, sh.jump = 128, jump{kind: exits}
			return 128
		}
		if n < 1 {
			sh.errorf("%s: %s: loop count out of range", args[0], args[1])
			n = sh.loops
		}
	}
	kind := breaks
	if args[0] == "continue" {
		kind = continues
	}
	sh.status, sh.jump = 0, jump{kind, min(n, sh.loops)}
	return 0
}

func (sh *shell) shift(args []string) int {
	n := 1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 0 {
			sh.errorf("shift: %s: numeric argument required", args[1])
			return 1
		}
	}
	switch {
	case len(args) > 2:
		sh.errorf("shift: too many arguments")
		sh.status, sh.jump = 1, jump{kind: discards}
		return 1
	case n > len(sh.params):
		return 1
	}
	sh.params = sh.params[n:]
	return 0
}

func (sh *shell) unsetBuiltin(args []string) int {
	status, functions, variables, ref := 0, true, true, false
	args = args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if bad := strings.Trim(args[0][1:], "fvn-"); bad != "" {
			return sh.usage("unset", "-"+bad[:1]+": invalid option", "unset [-f] [-v] [-n] [name ...]")
		}
		functions = functions && args[0] != "-v" && args[0] != "-n"
		variables = variables && args[0] != "-f"
		ref = ref || args[0] == "-n"
		args = args[1:]
	}
	for _, a := range args {
		name, sub, element := parse.CutSubscript(a)
		if !ref {
			name, _ = sh.vars.Resolve(name)
		}
		v, _ := sh.vars.Scope.Find(name)
		switch {
		case element && variables && v != nil:
			if err := sh.unsetElement(name, v, sub); err != nil {
				sh.errorf("unset: %v", err)
				status = 1
			}
		case v != nil && variables:
			if err := sh.vars.Unset(name); err != nil {
				sh.errorf("unset: %v", err)
				status = 1
			}
		case variables && sh.special(name) != nil:
			sh.vars.Plain[name] = true
		case functions && sh.funcs[name] != nil && sh.funcs[name].readOnly:
			sh.errorf("unset: %s: cannot unset: readonly function", name)
			status = 1
		case functions:
			delete(sh.funcs, name)
		case !parse.ValidName(name):
			sh.errorf("unset: `%s': not a valid identifier", a)
			status = 1
		}
	}
	return status
}

func (sh *shell) unsetElement(name string, v *vars.Variable, sub string) error {
	sub = sh.subscript(v, sub)
	switch {
	case v.Attrs&vars.ReadOnly != 0:
		return fmt.Errorf("%s: cannot unset: %v", name, vars.ErrReadOnly)
	case v.Kind == vars.Associative:
		v.Table = sh.vars.OwnTable(v.Table)
		v.Table.Remove(sub)
		return nil
	case sub == "@" || sub == "*":
		return sh.vars.Unset(name)
	}
	n, err := sh.evaluate(sub)
	if err != nil {
		return err
	}
	if v.Kind == vars.Indexed {
		if n < 0 {
			n += int64(v.List.Next())
		}
		if n < 0 {
			return fmt.Errorf("[%s]: bad array subscript", sub)
		}
		v.List = sh.vars.Own(v.List)
		v.List.Remove(int(n))
	} else if n == 0 {
		return sh.vars.Unset(name)
	} else {
		return fmt.Errorf("%s: not an array variable", name)
	}
	return nil
}

func (sh *shell) letBuiltin(args []string) int {
	if len(args) < 2 {
		sh.errorf("let: expression expected")
		return 1
	}
	var n int64
	for _, a := range args[1:] {
		var err error
		if n, err = sh.evaluate(a); err != nil {
			sh.reportIn("let", err)
			return 1
		}
	}
	return int(truth(n == 0))
}

func (sh *shell) disown(args []string) int {
	for _, a := range args[1:] {
		if j := sh.job(a); j != nil {
			sh.jobs = slices.DeleteFunc(sh.jobs, func(x *job) bool { return x == j })
		}
	}
	if len(args) == 1 || args[1] == "-a" || args[1] == "-h" {
		sh.jobs = nil
	}
	return 0
}

func (sh *shell) times([]string) int {
	d := sh.p.ChildCPU()
	return sh.print("times", fmt.Sprintf("0m0.000s 0m0.000s\n%dm%.3fs 0m0.000s\n", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes()))))
}

func (sh *shell) caller(args []string) int {
	n := 0
	if len(args) > 1 {
		n, _ = strconv.Atoi(args[1])
	}
	i := len(sh.calls) - 1 - n
	if i < 0 && len(args) == 1 {
		return sh.print("caller", "0 NULL\n")
	}
	if i < 0 {
		return 1
	}
	c := sh.calls[i]
	name, file := "main", sh.script
	if i > 0 {
		name, file = sh.calls[i-1].name, sh.calls[i-1].source
	}
	if file == "" {
		file = "NULL"
	}
	if len(args) == 1 {
		return sh.print("caller", fmt.Sprintf("%d %s\n", c.line, file))
	}
	return sh.print("caller", fmt.Sprintf("%d %s %s\n", c.line, name, file))
}
