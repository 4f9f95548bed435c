package shell

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/parse"
)

func init() {
	commands = map[string]func(*shell, []string) int{
		"eval": flagged(eval), "exec": flagged(exec),
		"exit": exit, "logout": exit, "return": returnFrom,
		"break": breakLoop, "continue": breakLoop, "shift": shift,
		"trap": trapSet, "kill": kill, "wait": flagged(wait), "jobs": flagged(listJobs), "disown": disown,
		"caller": caller, "help": help,
	}
	for _, name := range []string{"source", "."} {
		commands[name] = flagged(func(sh *shell, _ builtins.Flags, args []string) int { return source(sh, name, args) })
	}
	for name, f := range builtins.Table {
		commands[name] = func(sh *shell, args []string) int { return f(face{sh}, args) }
	}
	names = slices.Sorted(maps.Keys(commands))
}

// flagged returns a builtin that has options.
func flagged(f func(sh *shell, flags builtins.Flags, args []string) int) func(*shell, []string) int {
	return func(sh *shell, args []string) int {
		flags, args, ok := builtins.ParseFlags(face{sh}, args)
		if !ok {
			return 2
		}
		return f(sh, flags, args)
	}
}

func eval(sh *shell, _ builtins.Flags, args []string) int {
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
func source(sh *shell, name string, args []string) int {
	if len(args) == 0 {
		return builtins.Usage(face{sh}, name, "filename argument required")
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
		return sh.fail("%v", err)
	}
	params, line := sh.state.Params, sh.line
	sh.calls = append(sh.calls, call{"source", path, sh.line})
	if len(args) > 1 {
		sh.state.Params = args[1:]
	}
	sh.status = 0
	sh.runText(&parse.Source{Text: text, Name: path, First: 1}, "source")
	if sh.jump.kind == returns {
		sh.jump = jump{}
	}
	if len(args) > 1 {
		sh.state.Params = params
	}
	sh.line = line
	sh.calls = sh.calls[:len(sh.calls)-1]
	return sh.status
}

// maxScript bounds a script, in bytes.
const maxScript = 16 << 20

// exec replaces the shell by a program.
func exec(sh *shell, flags builtins.Flags, args []string) int {
	env, name := sh.environ(), flags.Value('a')
	if flags.On('c') {
		env = nil
	}
	if len(args) == 0 {
		return 0
	}
	path, errno := sh.p.Kernel().LookPath(args[0], sh.files.Dir, []string{"PATH=" + sh.vars.Get("PATH")})
	if errno != abi.OK {
		text := files.Message(errno)
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

func exit(sh *shell, args []string) int {
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
			return sh.fail("exit: too many arguments")
		}
		status = int(n & 0xff)
	}
	sh.status, sh.jump = status, jump{kind: exits}
	return status
}

func returnFrom(sh *shell, args []string) int {
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

func breakLoop(sh *shell, args []string) int {
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

func shift(sh *shell, args []string) int {
	n := 1
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil || n < 0 {
			return sh.fail("shift: %s: numeric argument required", args[1])
		}
	}
	switch {
	case len(args) > 2:
		sh.errorf("shift: too many arguments")
		sh.status, sh.jump = 1, jump{kind: discards}
		return 1
	case n > len(sh.state.Params):
		return 1
	}
	sh.state.Params = sh.state.Params[n:]
	return 0
}

func disown(sh *shell, args []string) int {
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

func caller(sh *shell, args []string) int {
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
	file = cmp.Or(file, "NULL")
	if len(args) == 1 {
		return sh.print("caller", fmt.Sprintf("%d %s\n", c.line, file))
	}
	return sh.print("caller", fmt.Sprintf("%d %s %s\n", c.line, name, file))
}

func help(sh *shell, _ []string) int {
	return sh.print("help", "GNU bash, version "+bashVersion+" (coderunner)\nBuiltins: "+strings.Join(names, " ")+
		"\nCommands: see /bin; `COMMAND --help' explains many of them.\n")
}
