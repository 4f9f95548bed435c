package shell

import (
	"errors"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
)

// external runs a program and waits for it.
func (sh *shell) external(args []string) {
	replace := sh.execs
	sh.execs = false
	e := kernel.Exec{Path: args[0], Args: args, Env: sh.environ(), Dir: sh.files.Dir, Umask: sh.files.Umask, Files: sh.files.Inherited(), Line: sh.line}
	path, errno := sh.p.Kernel().LookPath(args[0], sh.files.Dir, []string{"PATH=" + sh.vars.Get("PATH")})
	if errno != abi.OK {
		sh.notFound(args, errno)
		return
	}
	e.Path = path
	e.Env = append(e.Env, "_="+path)
	if replace {
		if err := sh.p.Replace(e); err == nil {
			sh.jump = jump{kind: exits}
			return
		}
	}
	c, err := sh.start(e)
	if err != nil {
		sh.cannotStart(args, e, err)
		return
	}
	sh.status = sh.await(c.PID(), false)
}

// environ returns the environment of a command: exported variables and functions.
func (sh *shell) environ() []string {
	env := sh.vars.Environ()
	for name, f := range sh.state.Functions {
		if f.Exported {
			env = append(env, "BASH_FUNC_"+name+"%%=() "+f.Text)
		}
	}
	slices.Sort(env)
	return env
}

// notFound reports that there is no such command.
func (sh *shell) notFound(args []string, errno abi.Errno) {
	name := args[0]
	sh.status = 127
	if errno == abi.EACCES {
		sh.status = 126
	}
	switch f := sh.state.Functions["command_not_found_handle"]; {
	case strings.Contains(name, "/") && sh.files.IsDir(name):
		sh.errorf("%s: Is a directory", name)
		sh.status = 126
	case strings.Contains(name, "/") || errno == abi.EACCES:
		sh.errorf("%s: %s", name, files.Message(errno))
	case f != nil:
		sh.callFunction(f, append([]string{"command_not_found_handle"}, args...))
	default:
		hint := sh.hint(name)
		if hint != "" {
			hint = "; " + hint
		}
		sh.errorf("%s: command not found%s", name, hint)
	}
}

// hint returns what to use for a missing command, "" if the script's output has that
// already.
func (sh *shell) hint(name string) string {
	hint, again := Instead(name), false
	if f := sh.files.FDs[2]; hint != "" && f != nil {
		if _, shown := f.Stream().(*memfs.Output); shown {
			_, again = sh.hinted.LoadOrStore(hint, true)
		}
	}
	if again {
		return ""
	}
	return hint
}

// cannotStart reports that a program does not start. A text without #! is a script
// of this shell.
func (sh *shell) cannotStart(args []string, e kernel.Exec, err error) {
	var errno abi.Errno
	errors.As(err, &errno)
	sh.status = 126
	switch errno {
	case abi.EAGAIN:
		sh.cannotFork(err)
	case abi.ENOENT:
		sh.errorf("%s: cannot execute: required file not found", args[0])
		sh.status = 127
	case abi.ENOEXEC:
		head, _ := sh.readFile(e.Path, 80)
		if line, _, _ := strings.Cut(head, "\n"); strings.ContainsRune(line, 0) {
			sh.errorf("%s: cannot execute binary file: Exec format error", args[0])
			return
		}
		e.Program, e.Args = Main, append([]string{"bash", e.Path}, args[1:]...)
		c, err := sh.start(e)
		if err != nil {
			sh.cannotFork(err)
			return
		}
		sh.status = sh.await(c.PID(), false)
	default:
		sh.errorf("%s: %s", args[0], files.Message(errno))
	}
}
