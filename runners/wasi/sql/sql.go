// Package sql runs SQL on SQLite, with the machine's command sqlite3.
//
// A session keeps its database in a file of its directory.
package sql

import (
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/wasi/guest"
)

const (
	database = "database.db"
	rows     = "/tmp/.rows.json" // of the last statement that has some
	maxRows  = 256 << 10         // bytes
)

// Language is the row.
var Language = guest.Language{
	Name: runners.SQL, Version: "SQLite", File: "main.sql", Commands: []string{"sqlite3"}, Args: args, Explain: explain, InFiles: true, Imports: []string{"_coderunner_sqlite"},
}

func args(file string, _ []string, session bool) []string {
	at := ":memory:"
	if session {
		at = database
	}
	return []string{"-keep-rows", rows, at, ".read '" + strings.ReplaceAll(file, "'", `'\''`) + "'"}
}

// problem matches what sqlite3 says of a statement that fails.
var problem = lazyregexp.New(`(?m)^(Parse|Runtime) error near line (\d+): (.*)$`)

// explain takes the rows of the last statement, and what was wrong with the first that failed.
func explain(o *runners.Outcome, fsys *memfs.FS, r *guest.Report) {
	if b, err := fsys.ReadFile(rows); err == nil && len(b) <= maxRows {
		r.Result = runners.NewValue(string(b), string(b), maxRows)
	}
	if m := problem.FindStringSubmatch(o.Stderr); m != nil {
		line, _ := strconv.Atoi(m[2])
		r.Error = &runners.Error{Type: m[1] + "Error", Message: m[3], Line: line, Shown: true}
	}
}
