package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coderunner/internal/versions"
	"coderunner/pyodide"
)

const printTwo = "print(1+1)"

// freshCases are a program in a fresh interpreter, in process.
func freshCases(h *hosts) []benchCase {
	want := said{Stdout: "2\n"}
	return []benchCase{{
		topic: "fresh", name: "print", warm: 5, factor: 3,
		title: printTwo + " in a fresh interpreter, in the process that embeds it, until the program has ended",
		contenders: []contender{
			h.inProcess("package pyodide, restored", ours, 0, printTwo, want),
			h.inProcess("package pyodide, restored ahead", ours, 2, printTwo, want),
			h.onEryx(peer, printTwo, want),
		},
	}}
}

// openPackage opens the package pyodide in this process.
func (h *hosts) openPackage(ctx context.Context, ahead int) (*pyodide.Runtime, error) {
	dir, err := h.fetch.NPM(ctx, versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY")), nil)
	if err != nil {
		return nil, err
	}
	return pyodide.Open(ctx, pyodide.Config{
		Module: filepath.Join(dir, versions.PyodideWasm),
		Stdlib: filepath.Join(dir, versions.PyodideStdlib),
		Store:  h.cache,
		Ahead:  ahead,
	})
}

// inProcess is the package pyodide embedded in this program: a fresh
// interpreter and a program, with so many interpreters kept ready.
func (h *hosts) inProcess(name string, r role, ahead int, code string, want said) contender {
	return contender{name: name, role: r, open: func(ctx context.Context) (*opened, error) {
		rt, err := h.openPackage(ctx, ahead)
		if err != nil {
			return nil, err
		}
		return &opened{close: func() { _ = rt.Close() }, sample: func(ctx context.Context) (sample, error) {
			var out strings.Builder
			began := time.Now()
			in, err := runFresh(ctx, rt, pyodide.Options{Stdout: &out}, code)
			took := sample{Wall: time.Since(began)}
			if in != nil {
				err = errors.Join(err, in.Close())
			}
			if err == nil {
				err = said{Stdout: out.String()}.check(want)
			}
			return took, err
		}}, nil
	}}
}

// runFresh runs a program in a new interpreter, which the caller closes if it
// is not nil.
func runFresh(ctx context.Context, rt *pyodide.Runtime, o pyodide.Options, code string) (*pyodide.Interp, error) {
	in, err := rt.New(ctx, o)
	if err != nil {
		return nil, err
	}
	res, err := in.Run(ctx, pyodide.Program{Code: code})
	if err == nil && (res.Ended != pyodide.Finished || res.ExitCode != 0) {
		err = fmt.Errorf("run: ended as %v with exit code %d", res.Ended, res.ExitCode)
	}
	return in, err
}
