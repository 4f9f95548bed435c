package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const drawPlot = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('plot.png')"

// firstImports are cases of the first import of a package: ours with the runtime in its
// cache and no package, by a command and by a server, beside uv, where it is there, with an empty cache.
func (h *hosts) firstImports() (cases []benchCase) {
	for _, name := range []string{"requests", "rich", "pydantic", "sympy", "sqlalchemy", "fastapi", "numpy", "pandas", "matplotlib"} {
		code := "import " + name + "\n"
		if name == "matplotlib" {
			code = drawPlot + "\n"
		}
		code += helloPython
		first := func(run firstRun) []contender {
			return h.each(func(ctx context.Context, b build) (*opened, error) { return h.firstImport(ctx, b, code, run) })
		}
		c := benchCase{"imports/first/" + name, 3, 1, first(runAlone)}
		for _, served := range first(runServed) {
			served.name += " serving"
			c.contenders = append(c.contenders, served)
		}
		if uv, err := exec.LookPath("uv"); err == nil {
			c.contenders = append(c.contenders, contender{name: "uv and native", open: func(context.Context) (*opened, error) {
				return &opened{sample: func(ctx context.Context) (float64, error) { return h.installed(ctx, uv, name, code) }}, nil
			}})
		}
		cases = append(cases, c)
	}
	return cases
}

// firstRun runs a program that has to print hello, and returns how long it took.
type firstRun func(ctx context.Context, c command, code string) (took, cpu time.Duration, err error)

// runAlone has a command run it.
func runAlone(ctx context.Context, c command, code string) (took, cpu time.Duration, err error) {
	began := time.Now()
	out, cpu, err := c.timed(ctx, "run", "--timeout", "2m", "-c", code)
	took = time.Since(began)
	if err == nil && out != hello {
		err = fmt.Errorf("%w: %.80q", errWrong, out)
	}
	return took, cpu, err
}

// runServed calls a server that has run another program.
func runServed(ctx context.Context, c command, code string) (took, cpu time.Duration, err error) {
	s, err := serve(ctx, c, "serve")
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	if err := s.runCode(ctx, "python", helloPython, hello); err != nil {
		return 0, 0, err
	}
	before, began := s.cpu(), time.Now()
	err = s.runCode(ctx, "python", code, hello)
	return time.Since(began), s.cpu() - before, err
}

// firstImport measures a program with a copy of a cache that has only the runtime.
func (h *hosts) firstImport(ctx context.Context, b build, code string, run firstRun) (*opened, error) {
	withCache := func(dir string) command {
		c := b.command
		c.env = append(slices.Clone(c.env), "CODE_RUNNER_CACHE_DIR="+dir)
		return c
	}
	small := func(ctx context.Context, c command) error {
		_, err := c.run(ctx, "run", "-c", helloPython)
		return err
	}
	only := filepath.Join(h.cache, b.name+"-runtime")
	if err := small(ctx, withCache(only)); err != nil {
		return nil, err
	}
	var used time.Duration
	return &opened{cpu: func() time.Duration { return used }, sample: func(ctx context.Context) (_ float64, err error) {
		dir, err := os.MkdirTemp(h.dir, "cache-")
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		c := withCache(dir)
		if err := os.CopyFS(dir, os.DirFS(only)); err != nil {
			return 0, err
		}
		if err := small(ctx, c); err != nil { // it verifies the files, which are new
			return 0, err
		}
		took, cpu, err := run(ctx, c, code)
		used += cpu
		return ms(took), err
	}}, nil
}

// installed measures uv's installation into a new environment and the program there.
func (h *hosts) installed(ctx context.Context, uv, project, code string) (_ float64, err error) {
	dir, err := os.MkdirTemp(h.dir, "uv-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := append(ownEnv(), "UV_CACHE_DIR="+filepath.Join(dir, "cache"), "PYTHONPYCACHEPREFIX=")
	python := filepath.Join(dir, "venv", "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(dir, "venv", "Scripts", "python.exe")
	}
	c := command{path: uv, env: env}
	if _, err := c.run(ctx, "venv", filepath.Join(dir, "venv")); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := c.run(ctx, "pip", "install", "--python", python, project); err != nil {
		return 0, err
	}
	out, err := command{path: python, env: env}.run(ctx, "-c", strings.ReplaceAll(code, "'plot.png'", fmt.Sprintf("%q", filepath.Join(dir, "plot.png"))))
	took := ms(time.Since(began))
	if err == nil && strings.TrimSpace(out) != strings.TrimSpace(hello) {
		err = fmt.Errorf("%w: %.80q", errWrong, out)
	}
	return took, err
}
