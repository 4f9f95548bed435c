// Package commands holds the commands that people use in a shell, as programs
// of the sandbox's processes: ls, grep, sed, awk, sort, tar and others.
//
// They see the sandbox's own file system (memfs) and never the host's; other
// programs they start through the process table. Behaviour, messages and exit
// statuses are those of the commands of a Debian system: GNU's coreutils,
// findutils, diffutils, grep, sed, tar and gzip, and mawk, bc, jq, zip; echo,
// printf, test, pwd and kill are bash's, from package shell.
//
// A command is one function from a [command.Call] to its exit status, in the package
// of its family and a file of its own or of its relatives, and has a row in the table
// of [Lookup]. The options of GNU that a command lacks are refused by name.
//
// # Limits
//
// The locale is C.UTF-8 and the time zone UTC unless TZ says otherwise. What a
// command holds beyond a line is charged to the file system's budget of bytes.
// Expressions with backreferences or lookaround are bounded in time.
//
// # Testing
//
// testdata/*.cases has command lines with what the real commands of a Debian 12
// system printed; with CODERUNNER_LONG=1 the real commands run again beside
// these. See TestCases.
package commands

import (
	"context"
	"maps"
	"path"
	"slices"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/shell"
)

// row is a command in the table: what --help prints of its arguments and of what
// it does, and the function that it is.
type row struct {
	synopsis, help string
	run            func(*command.Call) int
}

// shells are the shell, and those of its builtins that are programs, too.
var shells = map[string]kernel.Program{"bash": shell.Main, "sh": shell.Main}

func init() {
	for _, name := range []string{"echo", "printf", "test", "[", "true", "false", "pwd", "kill"} {
		shells[name] = shell.Builtin(name)
	}
}

// Lookup returns the command with the given name.
func Lookup(name string) (kernel.Program, bool) {
	if program, ok := shells[name]; ok {
		return program, true
	}
	found, ok := table[name]
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, p *kernel.Process) int {
		// A command under another one's name is called what it was called.
		as := name
		if len(p.Args) > 0 {
			if base := path.Base(p.Args[0]); table[base].run != nil {
				as = base
			}
		}
		return command.Run(ctx, p, as, table[as].synopsis, table[as].help, found.run)
	}, true
}

// Names returns the names of all commands, sorted.
func Names() []string {
	names := slices.Concat(slices.Collect(maps.Keys(table)), slices.Collect(maps.Keys(shells)))
	slices.Sort(names)
	return names
}
