// Package php runs PHP, by the CGI build of its interpreter, which prelude.php makes behave
// like the command line's: the standard streams, the working directory, errors as text.
// zend.go calls what the build does not export, so that it begins once and runs program
// after program.
//
// # Limits
//
// Of the options -r, -f, -d, -l, -v, -i and -m. Processes are started by prelude.php, one at a
// time. There are no sockets and no extensions to load. A fatal error leaves nothing in a session.
package php

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/machine/abi"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.PHP, Version: versions.PHPVersion, File: "main.php", Commands: []string{"php", "php-cgi"},
	Module: &engine.Module{Name: "php", Package: versions.PHP, File: versions.PHPModule, Exports: functions},
	Run:    run, Starts: true,
}

//go:embed prelude.php
var prelude string

// command is the beginning of a command line, which makes the CGI build what the command line's
// is. Its time limit is the machine's; prelude.php fills $_SERVER and $_ENV, and has others of
// the functions.
var command = []string{
	"php", "-q", "-dhtml_errors=0", "-ddisplay_errors=1", "-dlog_errors=0", "-dimplicit_flush=1", "-doutput_buffering=0",
	"-dmax_execution_time=0", "-dmemory_limit=-1", "-dcgi.rfc2616_headers=0", "-dsys_temp_dir=/tmp", "-dregister_argc_argv=0", "-dvariables_order=",
	"-ddisable_functions=system,exec,shell_exec,passthru,popen,proc_open,getenv,putenv,register_shutdown_function",
}

// program is a command line, as prelude.php reads it.
type program struct {
	File    string            `json:"file"` // absolute; "": Code
	Code    string            `json:"code"`
	Name    string            `json:"name"` // as it was called
	Args    []string          `json:"args"`
	Dir     string            `json:"dir"`
	Env     []string          `json:"env"`
	INI     map[string]string `json:"ini"`
	Session bool              `json:"session"`
}

func run(ctx context.Context, c *guest.Call) int {
	p, ok := parse(c.Args[1:])
	if !ok { // what tells of PHP or of a file, and runs nothing
		c.Args = slices.Concat(command, c.Args[1:])
		end, err := engine.Main(ctx, c.Process, c.Code, nil)
		return c.Ended(ctx, "php", end, err)
	}
	p.Dir, p.Env, p.Session = c.Dir, c.Env, c.Goes()
	switch {
	case p.File != "":
		if p.Name = p.File; !path.IsAbs(p.File) {
			p.File = path.Join(c.Dir, p.File)
		}
		f, errno := c.Open(ctx, p.File, abi.O_RDONLY, 0)
		if errno != abi.OK {
			fmt.Fprintln(c.Stdout(ctx), "Could not open input file:", p.Name)
			return 1
		}
		f.Close()
	case p.Code == "":
		b, _ := io.ReadAll(io.LimitReader(c.Stdin(ctx), maxInput)) // what cannot be read is no program, as elsewhere
		p.Code = string(b)
	}
	v := &vm{c: c}
	return c.Interpret(ctx, "php", v.boot, func(in *engine.Instance, _ []byte) int {
		v.Instance = in
		return v.main(p)
	})
}

// maxInput bounds a program on standard input, in bytes.
const maxInput = 64 << 20

// parse reads a command line that runs a program.
func parse(args []string) (p program, ok bool) {
	p = program{INI: map[string]string{}, Name: "Standard input code"}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case (a == "-d" || a == "-r" || a == "-f") && i+1 == len(args):
			return p, false
		case a == "-d":
			i++
			name, value, given := strings.Cut(args[i], "=")
			if !given {
				value = "1"
			}
			p.INI[name] = value
		case a == "-q" || a == "-n" || a == "-C":
		case a == "-r":
			p.Code, p.Args = "<?php "+args[i+1], args[i+2:]
			return p, true
		case a == "-f": // the next one is the file in any case
		case a == "--" || a == "-":
			p.Args = args[i+1:]
			return p, true
		case strings.HasPrefix(a, "-"):
			return p, false
		default:
			p.File, p.Args = a, args[i+1:]
			return p, true
		}
	}
	return p, true
}

// uncaught matches what PHP says of an exception that nothing catches.
var uncaught = lazyregexp.New(`(?s)^Uncaught ([\w\\]+)(?:: (.*?))? in [^\n]*:\d+\nStack trace:\n(.*)$`)

// report reads what a program leaves; it may have forged that.
func (v *vm) report(text string, status int) {
	var l struct {
		Fatal *struct {
			Message string
			Line    int
			Parse   bool
		}
		Variables []runners.Variable
	}
	if json.Unmarshal([]byte(text), &l) != nil {
		return
	}
	r := v.c.Report
	if e := l.Fatal; e != nil {
		r.Memory = strings.HasPrefix(e.Message, "Out of memory")
		r.Error = &runners.Error{Type: "FatalError", Message: e.Message, Line: max(0, e.Line), Shown: true}
		if m := uncaught.FindStringSubmatch(e.Message); m != nil {
			r.Error.Type, r.Error.Message, r.Error.Traceback = m[1], m[2], e.Message
		} else if e.Parse {
			r.Error.Type = "ParseError"
		}
	}
	if !v.bailed {
		v.c.Leave(v.Instance, nil, l.Variables, status == 0)
	}
}
