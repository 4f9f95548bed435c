// Package commands holds the commands that people use in a shell, as programs
// of the sandbox's processes: ls, grep, sed, awk, sort, tar and others.
//
// They see the sandbox's own file system (memfs) and never the host's; other
// programs they start through the process table. Behaviour, messages and exit
// statuses are those of the commands of a Debian system: GNU's coreutils,
// findutils, diffutils, grep, sed, tar and gzip, and mawk, bc, jq, zip.
//
// A command is one function from a [call] to its exit status, in a file of its
// own or of its family, and has a row in the table of [Lookup]. The options of
// GNU that a command lacks are refused by name.
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
	"bufio"
	"context"
	"maps"
	"path"
	"slices"

	"coderunner/internal/kernel"
)

// command is a row of the table.
type command struct {
	usage string
	help  string
	run   func(*call) int
}

// table is filled by init, since commands refer to it.
var table map[string]command

// Lookup returns the command with the given name.
func Lookup(name string) (kernel.Program, bool) {
	row, ok := table[name]
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, p *kernel.Process) int {
		c := &call{ctx: ctx, p: p, fs: p.FS(), name: name, dir: p.Dir}
		if len(p.Args) > 0 {
			c.args = p.Args[1:]
			if base := path.Base(p.Args[0]); table[base].run != nil {
				c.name = base
			}
		}
		c.out = bufio.NewWriterSize(p.Stdout(ctx), copySize)
		defer c.close()
		return c.end(row.run(c))
	}, true
}

// Names returns the names of all commands, sorted.
func Names() []string { return slices.Sorted(maps.Keys(table)) }
