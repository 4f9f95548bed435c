// Package clang compiles C and C++ and runs the result: as languages, and through the
// commands cc, c++, ar and the like, which programs of the machine start.
//
//	command line ── clang -c, for each source ── wasm-ld ── a module, in the machine's files
//	                └──────── memo: what was built of what ────┘
//
// Both are one module, which finds its headers and libraries below [root]. It cannot start
// processes, so that the driver's part between them is ours: see parse.
//
// # Limits
//
// What runs is WebAssembly of 32 bits on WASI preview 1: no threads, processes, sockets or
// signals of others, no shared libraries, no inline assembly.
package clang

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

var module = engine.Module{Name: "clang", Package: versions.Clang, File: versions.ClangModule, Archive: versions.ClangFiles}

// C is the row of C, which has the tools besides.
var C = guest.Language{
	Name: runners.C, Version: versions.ClangVersion, File: "main.c",
	Commands: append([]string{"cc", "gcc", "clang", "c99"}, tools...),
	Module:   &module, Run: run,
}

// CPP is the row of C++.
var CPP = guest.Language{
	Name: runners.CPP, Version: versions.ClangVersion, File: "main.cpp",
	Commands: []string{"c++", "g++", "clang++"},
	Module:   &module, Run: run, Explain: thrown, Derive: derive, Derived: strings.Join(programs, " "),
}

// programs are the flags of C++ programs of runs.
var programs = []string{"-std=gnu++20", "-O2"}

// tools are other programs in the module.
var tools = []string{"ar", "ranlib", "nm", "size", "strip", "objdump", "objcopy", "c++filt", "addr2line"}

// root is the directory of headers and libraries.
const root = "/usr/lib/llvm"

// run is a command, or a run's program.
func run(ctx context.Context, c *guest.Call) int {
	name := path.Base(c.Args[0])
	if err := guest.Mount(c.FS(), root, "include", c.Code.Files); err != nil {
		fmt.Fprintf(c.Stderr(ctx), "%s: %v\n", name, err)
		return 1
	}
	b := &builder{Call: c, name: name, env: c.Env}
	if c.Report != nil {
		return b.program(ctx)
	}
	if slices.Contains(tools, name) {
		end, err := b.tool(ctx, append([]string{"llvm-" + name}, c.Args[1:]...))
		return c.Ended(ctx, name, end, err)
	}
	return b.command(ctx)
}

// command is cc or c++.
func (b *builder) command(ctx context.Context) int {
	line, err := parse(b.Args[1:], strings.Contains(b.name, "++"))
	if err != nil {
		fmt.Fprintf(b.Stderr(ctx), "%s: error: %v\n", b.name, err)
		return 1
	}
	r, err := b.build(ctx, line)
	if err != nil || r.Trap != "" {
		return b.failed(ctx, r, err)
	}
	_, _ = b.Stderr(ctx).Write(r.said) // who does not read it does not want it
	if r.made != nil {
		if err := guest.Write(ctx, b.Process, line.out, r.made, 0o777); err != nil {
			fmt.Fprintf(b.Stderr(ctx), "%s: error: %v\n", b.name, err)
			return 1
		}
	}
	return r.Code
}

// failed ends the process as a tool has ended that did not come to its end.
func (b *builder) failed(ctx context.Context, r *built, err error) int {
	if r == nil {
		r = &built{}
	}
	return b.Ended(ctx, b.name, r.End, err)
}

// program builds a run's program and executes it: arguments are its file and its own.
func (b *builder) program(ctx context.Context) int {
	args := b.Args[1:]
	flags, cxx := []string{"-O2"}, strings.Contains(b.name, "++")
	if cxx {
		flags = programs
	}
	line, err := parse(slices.Concat(flags, []string{"-o", output, args[0]}), cxx)
	if err != nil {
		b.Report.Error = &runners.Error{Type: compileError, Message: err.Error()}
		return 1
	}
	key := fmt.Sprintf("%q %q %s %q", b.Dir, args[0], b.state(b.abs(args[0])), b.variables()) + made(clang(cxx, flags...))
	r, err := b.remembered(ctx, key, func() (*built, error) { return b.build(ctx, line) })
	if err != nil || r.Trap != "" {
		return b.failed(ctx, r, err)
	}
	if r.Code != 0 {
		_, _ = b.Stderr(ctx).Write(r.said)
		b.Report.Error = firstError(r.said, args[0])
		return r.Code
	}
	b.Report.Note = warnings(r.said)
	code, err := b.Engine.Use(ctx, r.made, r.digest)
	if bad := engine.IsBad(err); bad != "" {
		fmt.Fprintf(b.Stderr(ctx), "%s: %v\n", args[0], err)
		b.Report.Error = &runners.Error{Type: compileError, Message: bad, Shown: true}
		return 1
	}
	if err != nil {
		return b.failed(ctx, nil, err)
	}
	b.Args, b.Env = args, b.env
	end, err := engine.Main(ctx, b.Process, code, func() []byte { return b.withLines(ctx, line, r.made) })
	return b.Ended(ctx, args[0], end, err)
}

// made tells all that what is built of a source depends on besides it.
func made(line []string) string {
	return runners.SHA256(fmt.Appendf(nil, "%q %s %s %q", line, versions.Clang().Integrity, runtime, headers))
}

// output is the name by which a run's program is built, where no file of it stays.
const output = scratch + "program"

// said keeps the beginning of what a tool says.
type said struct{ bytes.Buffer }

const maxSaid = 256 << 10

func (s *said) Write(p []byte) (int, error) {
	s.Buffer.Write(p[:min(len(p), maxSaid-s.Len())])
	return len(p), nil
}
