// Package perl runs Perl. Its module is a library, of which one function is the command: it
// takes the arguments of perl.
//
// # Sources
//
// stubs/zeroperl.c of https://github.com/6over3/zeroperl.
//
// # Limits
//
// Processes are started by lib/CodeRunner.pm, one at a time. There are no signals and no
// sockets. Modules that the build lacks are missing, except for POSIX and Storable, of which
// lib has what programs use. Errors are recognized by what Perl prints.
package perl

import (
	"context"
	"embed"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strconv"
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
	Name: runners.Perl, Version: versions.PerlVersion, File: "main.pl", Commands: []string{"perl"},
	Module: &engine.Module{Name: "perl", Package: versions.Perl, File: versions.PerlModule},
	Run:    run, Starts: true, Explain: explain,
}

// tree has modules of Perl's that the build lacks, and CodeRunner.pm, which is loaded first.
//
//go:embed lib
var tree embed.FS

const library = "/usr/lib/perl5" // where they are

func run(ctx context.Context, c *guest.Call) int {
	lib, err := fs.Sub(tree, "lib")
	if err == nil {
		err = guest.Mount(c.FS(), library, "CodeRunner.pm", lib)
	}
	if err != nil {
		fmt.Fprintf(c.Stderr(ctx), "perl: %v\n", err)
		return 1
	}
	args := append([]string{"perl", "-I" + library, "-MCodeRunner=" + c.Dir}, c.Args[1:]...)
	return c.Interpret(ctx, "perl", nil, func(in *engine.Instance, _ []byte) int {
		in.Must("_initialize")
		var list []byte
		for _, a := range args {
			list = binary.LittleEndian.AppendUint32(list, in.Put(a+"\x00"))
		}
		status := in.Must("zeroperl_init_with_args", len(args), in.Put(string(list)+"\x00\x00\x00\x00")) & 0xff
		in.Must("zeroperl_shutdown") // it writes what is left, and ends objects with destructors
		if status != 0 && in.Refused() {
			engine.Stop(&engine.Unsupported{Text: "Perl has no memory left"})
		}
		return int(status)
	})
}

// died matches what Perl prints of an error.
var died = lazyregexp.New(`(?m)^(.*) at (\S+) line (\d+)(?:, (?:near|at|<).*)?\.?$`)

// object matches an error that is an object without a text.
var object = lazyregexp.New(`(?m)^([A-Za-z_][\w:]*)=(?:HASH|ARRAY|SCALAR|CODE|REF)\(0x[0-9a-f]+\)\z`)

// explain finds the error of a program that has failed.
func explain(o *runners.Outcome, _ *memfs.FS, r *guest.Report) {
	if o.Status != runners.Failed {
		return
	}
	if all := died.FindAllStringSubmatch(o.Stderr, -1); all != nil {
		m := all[len(all)-1]
		line, _ := strconv.Atoi(m[3])
		r.Error = &runners.Error{Type: "Died", Message: m[1], Line: line, Shown: true}
		if strings.HasPrefix(m[1], "syntax error") {
			r.Error.Type = "SyntaxError"
		}
	} else if m := object.FindStringSubmatch(strings.TrimSpace(o.Stderr)); m != nil {
		r.Error = &runners.Error{Type: m[1], Message: m[0], Shown: true}
	}
}
