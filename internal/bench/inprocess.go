package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/pyodide"
)

// inProcess is the package pyodide embedded in this program: a fresh
// interpreter, a hello, and its end.
func (h *hosts) inProcess() contender {
	return contender{name: "package pyodide, in this process", role: another, open: func(ctx context.Context) (*opened, error) {
		dir, err := h.cache.Pyodide(ctx, os.Getenv("NPM_CONFIG_REGISTRY"), nil)
		if err != nil {
			return nil, err
		}
		rt, err := pyodide.Open(ctx, pyodide.Config{
			Module: filepath.Join(dir, cache.PyodideWasm),
			Stdlib: filepath.Join(dir, cache.PyodideStdlib),
			Store:  h.cache,
		})
		if err != nil {
			return nil, err
		}
		return &opened{close: func() { _ = rt.Close() }, sample: func(ctx context.Context) (sample, error) {
			began := time.Now()
			stdout, err := runFresh(ctx, rt, helloPython)
			took := sample{Wall: time.Since(began)}
			if err == nil {
				err = said{Stdout: stdout}.check(hello)
			}
			return took, err
		}}, nil
	}}
}

func runFresh(ctx context.Context, rt *pyodide.Runtime, code string) (stdout string, err error) {
	var out strings.Builder
	in, err := rt.New(ctx, pyodide.Options{Stdout: &out})
	if err != nil {
		return "", err
	}
	res, err := in.Run(ctx, pyodide.Program{Code: code})
	if err == nil && (res.Ended != pyodide.Finished || res.ExitCode != 0) {
		err = fmt.Errorf("run: ended as %v with exit code %d", res.Ended, res.ExitCode)
	}
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	return out.String(), err
}
