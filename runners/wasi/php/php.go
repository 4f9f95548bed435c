// Package php runs PHP, by the CGI build of its interpreter, which prelude.php makes the
// command line's: the standard streams, the working directory, errors as text.
//
// # Limits
//
// Of the options -r, -f, -d, -l, -v, -i and -m. Processes are started by prelude.php, one at a
// time. There are no sockets and no extensions to load.
package php

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.PHP, Version: versions.PHPVersion, File: "main.php", Commands: []string{"php", "php-cgi"},
	Module: &engine.Module{Name: "php", Package: versions.PHP, File: versions.PHPModule},
	Run:    run, Starts: true, Explain: explain,
}

//go:embed prelude.php
var prelude string

const (
	report    = "/tmp/.php-error.json" // what ended a run's program
	maxReport = 64 << 10
)

// settings make the CGI build what the command line's is. Its time limit is the machine's.
var settings = []string{
	"html_errors=0", "display_errors=1", "log_errors=0", "implicit_flush=1", "output_buffering=0",
	"max_execution_time=0", "memory_limit=-1", "register_argc_argv=1", "cgi.rfc2616_headers=0",
	"disable_functions=system,exec,shell_exec,passthru,popen,proc_open", // prelude.php has others
}

func run(ctx context.Context, c *guest.Call) int {
	prelude, code := fmt.Sprintf("/tmp/.php-%d.php", c.PID()), fmt.Sprintf("/tmp/.php-r-%d.php", c.PID())
	defer func() {
		_ = c.FS().Unlink(nil, prelude) // they may not be there
		_ = c.FS().Unlink(nil, code)
	}()
	args := []string{"php", "-q", "-d", "auto_prepend_file=" + prelude}
	for _, s := range settings {
		args = append(args, "-d", s)
	}
	rest := slices.Clone(c.Args[1:])
	name := ""
	var err error
	if at := program(rest); at > 0 && rest[at-1] == "-r" { // which CGI has not
		err = c.FS().WriteFile(code, []byte("<?php "+rest[at]), 0o600)
		rest, name = slices.Concat(rest[:at-1], []string{code}, rest[at+1:]), "Standard input code"
	} else if at >= 0 {
		if name = rest[at]; !path.IsAbs(name) {
			rest[at] = path.Join(c.Dir, name)
		}
	}
	if err == nil {
		err = writePrelude(c, prelude, name)
	}
	if err != nil {
		fmt.Fprintf(c.Stderr(ctx), "php: %v\n", err)
		return 1
	}
	c.Args = append(args, rest...)
	end, err := engine.Main(ctx, c.Process, c.Code)
	return c.Ended(ctx, "php", end, err)
}

// program returns the index of the program's file, or of the code of -r; -1: there is none.
func program(args []string) int {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-d" || a == "-c" || a == "-z":
			i++
		case a == "-r" || a == "-f":
			if i+1 < len(args) {
				return i + 1
			}
		case a == "--" || a == "-":
			return -1
		case !strings.HasPrefix(a, "-"):
			return i
		}
	}
	return -1
}

// writePrelude writes what PHP runs before a program, whose name in $argv is name.
func writePrelude(c *guest.Call, at, name string) error {
	told := ""
	if c.Report != nil {
		told = report
	}
	values, err := json.Marshal([]string{c.Dir, name, told})
	if err != nil {
		return err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(string(values))
	return c.FS().WriteFile(at, []byte(strings.Replace(prelude, "$SETTINGS", quoted, 1)), 0o600)
}

// uncaught matches what PHP says of an exception that nothing catches.
var uncaught = lazyregexp.New(`(?s)^Uncaught ([\w\\]+)(?:: (.*?))? in [^\n]*:\d+\nStack trace:\n(.*)$`)

// explain reads what ended the program.
func explain(o *runners.Outcome, fsys *memfs.FS, r *guest.Report) {
	b, err := fsys.ReadFile(report)
	var e struct {
		Message string
		Line    int
		Parse   bool
	}
	if err != nil || len(b) > maxReport || json.Unmarshal(b, &e) != nil {
		return
	}
	r.Memory = strings.HasPrefix(e.Message, "Out of memory")
	r.Error = &runners.Error{Type: "FatalError", Message: e.Message, Line: max(0, e.Line), Shown: true}
	if m := uncaught.FindStringSubmatch(e.Message); m != nil {
		r.Error.Type, r.Error.Message, r.Error.Traceback = m[1], m[2], e.Message
	} else if e.Parse {
		r.Error.Type = "ParseError"
	}
}
