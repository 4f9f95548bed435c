// Package perl runs Perl. Its module is a library, of which one function is the command: it
// takes the arguments of perl.
//
// # Sources
//
// stubs/zeroperl.c of https://github.com/6over3/zeroperl.
//
// # Limits
//
// There are no processes to start, no signals and no sockets. What the build lacks of the
// library is not there but for POSIX and Storable, which lib has as far as programs use them. An
// error is known by what Perl prints of it.
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
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/versions"
	"coderunner/pyodide/hostfn"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.Perl, Version: versions.PerlVersion, File: "main.pl", Commands: []string{"perl"},
	Module: &engine.Module{Name: "perl", Package: versions.Perl, File: versions.PerlModule, Imports: imports},
	Args:   func(file string, args []string, _ bool) []string { return append([]string{file}, args...) },
	Run:    run, Explain: explain,
}

// imports is what the module wants besides WASI's functions: the host's functions as Perl's,
// which there are none of.
func imports() hostfn.Table {
	return hostfn.Table{{
		Module: "env", Name: "call_host_function", Sig: "iii:i", Args: "id argc argv", Source: "zeroperl.c", Support: hostfn.Absent,
		Note: "nothing registers a function", Fn: func(_ context.Context, stack []uint64) { stack[0] = 0 },
	}}
}

// tree has modules of Perl's that the build lacks, and CodeRunner.pm, which is loaded first.
//
//go:embed lib
var tree embed.FS

const library = "/usr/lib/perl5" // where they are

func run(ctx context.Context, c *guest.Call) int {
	if err := mount(c.FS()); err != nil {
		fmt.Fprintf(c.Stderr(ctx), "perl: %v\n", err)
		return 1
	}
	in, err := engine.Start(ctx, c.Process, c.Code)
	if err != nil {
		return c.Ended(ctx, "perl", engine.End{}, err)
	}
	defer in.Close()
	status, err := command(in, append([]string{"perl", "-I" + library, "-MCodeRunner=" + c.Dir}, c.Args[1:]...))
	end := in.End(err)
	if err == nil {
		end.Code, end.Memory = status, status != 0 && in.Refused()
	}
	return c.Ended(ctx, "perl", end, nil)
}

func mount(fsys *memfs.FS) error {
	if _, errno := fsys.Lookup(nil, library, true); errno == abi.OK {
		return nil
	}
	lib, err := fs.Sub(tree, "lib")
	if err == nil {
		err = fsys.MkdirAll(library, 0o755)
	}
	if err == nil {
		err = fsys.MountInto(library, lib)
	}
	return err
}

// command runs a command line, and ends what it leaves: what it has not written yet, and
// objects with destructors.
func command(in *engine.Instance, args []string) (status int, err error) {
	if _, err := in.Call("_initialize"); err != nil {
		return 0, err
	}
	var list []byte
	for _, a := range args {
		at, err := put(in, append([]byte(a), 0))
		if err != nil {
			return 0, err
		}
		list = binary.LittleEndian.AppendUint32(list, at)
	}
	argv, err := put(in, append(list, 0, 0, 0, 0))
	if err != nil {
		return 0, err
	}
	result, err := in.Call("zeroperl_init_with_args", uint64(len(args)), uint64(argv))
	if err == nil {
		_, err = in.Call("zeroperl_shutdown")
	}
	return int(result & 0xff), err
}

func put(in *engine.Instance, b []byte) (at uint32, err error) {
	p, err := in.Call("malloc", uint64(len(b)))
	if err == nil && (p == 0 || !in.Mem.Put(uint32(p), b)) {
		err = &engine.Unsupported{Text: "Perl has no memory left"}
	}
	return uint32(p), err
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
