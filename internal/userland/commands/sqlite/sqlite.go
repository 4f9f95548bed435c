// Package sqlite has sqlite3, the shell of SQLite.
//
// SQLite is in Python's library. The command is a Python module of ours there, which is kept as
// bytecode, and which an interpreter of the sandbox runs: it sees the sandbox's files and ends
// with the process.
//
// # Limits
//
// Settings that are for people at a terminal (.timer, .width) have no effect, and
// functions of the shell's own (edit, readfile, .excel) are missing.
//
// # Testing
//
// cmd/coderunner/testdata/run/sqlite.txtar, for it needs an interpreter.
package sqlite

import "coderunner/internal/userland/commands/command"

// Main runs statements on a database.
func Main(c *command.Call) int {
	if len(c.Args) > 0 && c.Args[0] == "--help" {
		c.About("help")
		return 0
	}
	status, err := c.Run(command.Child{Args: append([]string{"python3", "-c", "import _coderunner_sqlite as s; s.run()"}, c.Args...)})
	if err != nil {
		c.Errorf("%s", command.Text(err))
	}
	return status
}
