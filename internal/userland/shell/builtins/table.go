// Package builtins has bash's builtins that do not direct the shell: those for variables,
// options, directories, input, output and tests. Each sees a Shell. Those of jobs, traps and
// the flow of a script are the shell's own.
package builtins

import (
	"strings"
)

// Table has the builtins by name. A builtin returns its status.
var Table map[string]func(Shell, []string) int

func init() {
	Table = map[string]func(Shell, []string) int{
		":": succeed, "true": succeed, "false": func(Shell, []string) int { return 1 },
		"echo": echo, "printf": flagged(formatted), "read": flagged(read),
		"cd": flagged(cd), "pwd": pwd, "pushd": pushd, "popd": popd, "dirs": dirs,
		"set": set, "unset": flagged(unset), "shopt": flagged(shopt),
		"declare": declare, "typeset": declare, "local": declare,
		"export": declare, "readonly": declare, "let": let,
		"type": flagged(typeOf), "command": flagged(command), "builtin": flagged(builtin), "hash": hash, "enable": enable,
		"getopts": getopts, "test": test, "[": test,
		"umask": flagged(umask), "ulimit": ulimit, "times": times,
		"alias": alias, "unalias": unalias,
		"compgen": compgen, "complete": succeed, "compopt": succeed, "history": succeed,
	}
	for _, name := range []string{"mapfile", "readarray"} {
		Table[name] = flagged(func(sh Shell, f Flags, args []string) int { return mapfile(sh, name, f, args) })
	}
	for _, name := range strings.Fields("bg fg suspend fc bind") {
		Table[name] = func(sh Shell, args []string) int {
			return fail(sh, "%s: not supported: the shell has no terminal", args[0])
		}
	}
}

// flagged returns a builtin that has options.
func flagged(f func(sh Shell, flags Flags, args []string) int) func(Shell, []string) int {
	return func(sh Shell, args []string) int {
		flags, args, ok := ParseFlags(sh, args)
		if !ok {
			return 2
		}
		return f(sh, flags, args)
	}
}

func succeed(Shell, []string) int { return 0 }
