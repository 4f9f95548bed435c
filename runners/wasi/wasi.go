// Package wasi runs programs of languages whose interpreters are WASI preview 1 modules, on
// the machine: each is one row of a table and one directory, and a command that programs of
// all languages start.
//
//	table ── guest.Language ──┬─ the runner of a language: a run whose main process is its command
//	                          └─ a command of the machine: ruby, php, qjs, wasm
//	engine: modules, compiled once; instances        preview1: their system calls
//
// The runs are bash's (bash.Guest): files, sessions, output and limits are the same.
//
// # Testing
//
// testdata has programs with what they print. Modules that are large are fetched for them.
package wasi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/runners"
	"coderunner/runners/wasi/clang"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
	"coderunner/runners/wasi/module"
	"coderunner/runners/wasi/perl"
	"coderunner/runners/wasi/php"
	"coderunner/runners/wasi/quickjs"
	"coderunner/runners/wasi/ruby"
	"coderunner/runners/wasi/sql"
)

// table has the languages.
var table = [...]*guest.Language{&module.Language, &sql.Language, &php.Language, &perl.Language, &ruby.Language, &quickjs.Language, &clang.C, &clang.CPP}

// Languages returns the languages.
func (g *Guests) Languages() (list []runners.Language) {
	for _, l := range g.only {
		list = append(list, l.Name)
	}
	return list
}

// Guests are the languages as commands of the machine.
type Guests struct {
	Engine   *engine.Engine
	only     []*guest.Language
	commands []*guest.Language // those of only, and what runs the programs that they make
}

// New returns the languages of a list; nil: all.
func New(e *engine.Engine, only []runners.Language) *Guests {
	g := &Guests{Engine: e}
	for _, l := range table {
		if only == nil || slices.Contains(only, l.Name) {
			g.only = append(g.only, l)
		}
	}
	g.commands = g.only
	if only != nil && !slices.Contains(only, runners.WASM) && (slices.Contains(only, runners.C) || slices.Contains(only, runners.CPP)) {
		g.commands = append(slices.Clip(g.only), &module.Language)
	}
	return g
}

// Commands returns the names of their commands.
func (g *Guests) Commands() (names []string) {
	for _, l := range g.commands {
		if l.Run != nil {
			names = append(names, l.Commands...)
		}
	}
	return names
}

// Formats returns the commands by what files begin with that they run.
func (g *Guests) Formats() map[string]string {
	formats := map[string]string{}
	for _, l := range g.commands {
		for _, begin := range l.Formats {
			formats[begin] = l.Commands[0]
		}
	}
	return formats
}

// Lookup returns a command's program, and what makes it ready.
func (g *Guests) Lookup(name string) (program kernel.Program, ready func(context.Context, *kernel.Process) error, ok bool) {
	for _, l := range g.commands {
		if l.Run != nil && slices.Contains(l.Commands, name) {
			return g.program(l, nil), func(ctx context.Context, p *kernel.Process) error {
				if l.Ready != nil && len(p.Args) > 1 {
					if data, err := guest.Read(ctx, p, p.Args[1], engine.MaxOwn+1); err == nil {
						l.Ready(ctx, g.Engine, data)
					}
				}
				return g.make(ctx, l, l.Derived, nil)
			}, true
		}
	}
	return nil, nil, false
}

// Prepare makes the module of a command ready for other processes, by its name, which a key
// of what is derived from it may follow.
func (g *Guests) Prepare(ctx context.Context, name string, progress runners.ProgressFunc) error {
	name, key, _ := strings.Cut(name, " ")
	for _, l := range g.only {
		switch {
		case l.Module == nil || l.Module.Name != name || key != "" && l.Derive == nil:
		case key == "":
			return g.Engine.Prepare(ctx, l.Module, progress)
		default:
			return g.make(ctx, l, key, progress)
		}
	}
	return fmt.Errorf("there is no language with the command %.50q", name)
}

func (g *Guests) make(ctx context.Context, l *guest.Language, key string, progress runners.ProgressFunc) error {
	if l.Module == nil {
		return nil
	}
	code, err := g.Engine.Open(ctx, l.Module, progress)
	if err == nil && key != "" {
		progress.Report(runners.Progress{Phase: "compile", Item: l.Module.Name + " " + key})
		_, err = l.Derive(ctx, g.Engine, code, key)
	}
	return err
}

// program returns the command of a language.
func (g *Guests) program(l *guest.Language, report *guest.Report) kernel.Program {
	return func(ctx context.Context, p *kernel.Process) int {
		c := &guest.Call{Process: p, Engine: g.Engine, Report: report}
		if l.Module != nil {
			var err error
			if c.Code, err = g.Engine.Open(ctx, l.Module, nil); err != nil {
				if ctx.Err() == nil {
					p.Kernel().Fail(err)
				}
				return 1
			}
		}
		if l.Starts {
			_ = guest.MakeStarter(p.FS()) // without it, what starts processes fails
		}
		return l.Run(ctx, c)
	}
}
