package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed guest/pyodide.mjs
var pyodideScript []byte

const nameDeno = "Pyodide on Deno"

// hosts are what programs are run on.
type hosts struct {
	dir    string // the programs; temporary
	builds []build
	deno   command // with the arguments of a peer's `deno run`
}

// build is a coderunner and its cache.
type build struct {
	command
	name, version string
}

// openHosts builds our binary, unless one is given, fills the caches and finds
// the peers. The caller removes the directory.
func openHosts(ctx context.Context, o options) (_ *hosts, err error) {
	h := &hosts{}
	if h.dir, err = os.MkdirTemp("", "coderunner-bench-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(h.dir))
		}
	}()
	if o.binary == "" {
		o.binary = filepath.Join(h.dir, "coderunner")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", o.binary, "coderunner/cmd/coderunner")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build coderunner in its module's directory: %w\n%s", err, out)
		}
	}
	if err := h.addBuild(ctx, "coderunner", o.binary, filepath.Join(o.cache, "ours")); err != nil {
		return nil, err
	}
	if o.against != "" {
		if err := h.addBuild(ctx, "against", o.against, filepath.Join(o.cache, "against")); err != nil {
			return nil, err
		}
	}
	return h, h.openDeno(ctx, filepath.Join(o.cache, "deno"))
}

func (h *hosts) addBuild(ctx context.Context, name, path, cacheDir string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	b := build{name: name, command: command{path: path, dir: h.dir, env: append(ownEnv(os.Environ()), "CODE_RUNNER_CACHE_DIR="+cacheDir)}}
	warm := b.with("warm").start(ctx)
	warm.Stderr = os.Stderr
	if err := warm.Run(); err != nil {
		return fmt.Errorf("%s warm: %w", path, err)
	}
	r, err := b.with("version").run(ctx)
	b.version = strings.Join(strings.Split(strings.TrimSpace(r.stdout), "\n"), ", ")
	h.builds = append(h.builds, b)
	return err
}

// ownEnv keeps what is needed for the registries, and no setting of ours.
func ownEnv(environ []string) []string {
	return slices.DeleteFunc(environ, func(v string) bool {
		return strings.HasPrefix(v, "CODE_RUNNER_") || strings.HasPrefix(v, "DENO_PERMISSION_ARGS=")
	})
}

// openDeno takes the Deno that our build runs. It keeps packages, transpiled
// code and V8's code cache between runs, as a user's would.
func (h *hosts) openDeno(ctx context.Context, dir string) error {
	if err := h.writeFile("pyodide.mjs", string(pyodideScript)); err != nil {
		return err
	}
	if err := h.writeFile("where.ts", "console.log(Deno.execPath())"); err != nil {
		return err
	}
	where := h.builds[0].with("run", h.file("where.ts"))
	where.env = append(slices.Clone(where.env), "DENO_PERMISSION_ARGS=--allow-run") // else the path is not told
	r, err := where.run(ctx)
	if err != nil {
		return err
	}
	h.deno = command{path: strings.TrimSpace(r.stdout), dir: h.dir, args: []string{"run", "--no-config", "--no-lock", "--no-prompt"},
		env: append(ownEnv(os.Environ()), "NO_COLOR=1", "DENO_DIR="+dir, "DENO_NO_PACKAGE_JSON=1", "DENO_NO_UPDATE_CHECK=1")}
	return nil
}

// pyodide is Pyodide, of the version that our build has, in one of the modes
// of guest/pyodide.mjs.
func (h *hosts) pyodide(args ...string) command {
	_, version, _ := strings.Cut(h.builds[0].version, "pyodide ")
	return h.deno.with("--allow-all", h.file("pyodide.mjs"), "npm:pyodide@"+version).with(args...)
}

func (h *hosts) writeFile(name, text string) error {
	return os.WriteFile(h.file(name), []byte(text), 0o600)
}

func (h *hosts) file(name string) string { return filepath.Join(h.dir, name) }

// ofBuilds makes a contender of each build.
func (h *hosts) ofBuilds(open func(ctx context.Context, b build) (*opened, error)) []contender {
	var all []contender
	for _, b := range h.builds {
		all = append(all, contender{name: b.name, build: true, open: func(ctx context.Context) (*opened, error) { return open(ctx, b) }})
	}
	return all
}

// overStdio measures calls of servers that are up.
func (h *hosts) overStdio(language, code, stdout string) []contender {
	return h.ofBuilds(func(ctx context.Context, b build) (*opened, error) {
		s, err := serve(ctx, b.command)
		if err != nil {
			return nil, err
		}
		return &opened{cpu: s.talk.cpu, close: s.talk.close, sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			err := s.runCode(ctx, language, code, stdout)
			return ms(time.Since(began)), err
		}}, nil
	})
}

// firstResult measures from the start of a server to the answer of its first
// call.
func (h *hosts) firstResult(language, code, stdout string) []contender {
	return h.ofBuilds(func(ctx context.Context, b build) (*opened, error) {
		return &opened{sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			s, err := serve(ctx, b.command)
			if err != nil {
				return 0, err
			}
			defer s.talk.close()
			err = s.runCode(ctx, language, code, stdout)
			return ms(time.Since(began)), err
		}}, nil
	})
}

// runs measures `coderunner run FILE` as a process.
func (h *hosts) runs(name, text string, read func(string) (float64, error), want string) []contender {
	return h.ofBuilds(func(_ context.Context, b build) (*opened, error) {
		err := h.writeFile(name, text)
		return processes(b.with("run", "--timeout", "2m", h.file(name)), read, want), err
	})
}

// peerProcess measures a peer's process. name is a file that the builds run,
// too.
func (h *hosts) peerProcess(name string, c command, read func(string) (float64, error), want string) contender {
	return contender{name: name, open: func(context.Context) (*opened, error) { return processes(c, read, want), nil }}
}

// pyodideLoop measures programs that a Pyodide process runs one by one: in
// mode "loop" in one interpreter, in "fresh" each in its own, which begins at
// Pyodide's own snapshot.
func (h *hosts) pyodideLoop(name, mode, code, stdout string) contender {
	return contender{name: name, open: func(context.Context) (*opened, error) {
		line, err := json.Marshal(code)
		if err != nil {
			return nil, err
		}
		t, err := h.pyodide(mode).talk()
		if err != nil {
			return nil, err
		}
		return &opened{cpu: t.cpu, close: t.close, sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			answer, err := t.ask(ctx, line)
			took := time.Since(began)
			var got string
			if err == nil {
				err = json.Unmarshal(answer, &got)
			}
			if err == nil && got != stdout {
				err = fmt.Errorf("%w: %.200q", errWrong, got)
			}
			return ms(took), err
		}}, nil
	}}
}

// readElapsed returns a function that takes the time from a program's
// ELAPSED_MS line and expects its RESULT line to be want.
func readElapsed(want string) func(stdout string) (float64, error) {
	return func(stdout string) (float64, error) {
		result, elapsed, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
		v, err := strconv.ParseFloat(strings.TrimPrefix(elapsed, "ELAPSED_MS "), 64)
		if result != want || err != nil || !(v > 0) {
			return 0, fmt.Errorf("%w: %.80q, want %q and a time", errWrong, stdout, want)
		}
		return v, nil
	}
}
