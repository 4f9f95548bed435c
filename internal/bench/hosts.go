package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/versions"
)

//go:embed guest/pyodide.mjs
var pyodideScript []byte

// hosts are what programs are run on. A peer that cannot be had is an error
// beside it, which its rows then show.
type hosts struct {
	dir   string // everything temporary
	files string // the programs

	versions     []string // ours and of the runtimes that we bring
	peerVersions []string

	cache      *cache.Cache
	fetch      *fetch.Client
	coderunner command

	deno    command
	denoErr error

	pyodide    string // the npm package, unpacked
	pyodideErr error

	snapshot    string // Pyodide's own, of a loaded interpreter
	snapshotErr error

	node    command
	nodeErr error

	python    command
	pythonErr error

	eryx    command
	eryxErr error
}

// openHosts builds our binary, unless one is given, warms its cache and gets
// the peers. The caller closes the hosts.
func openHosts(ctx context.Context, binary string) (*hosts, error) {
	dir, err := os.MkdirTemp("", "coderunner-bench-*")
	if err != nil {
		return nil, err
	}
	h := &hosts{dir: dir, files: filepath.Join(dir, "files")}
	if err := h.open(ctx, binary); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *hosts) close() error {
	err := os.RemoveAll(h.dir)
	if h.cache != nil {
		err = errors.Join(err, h.cache.Close())
	}
	return err
}

func (h *hosts) open(ctx context.Context, binary string) error {
	for _, dir := range []string{h.files, filepath.Join(h.dir, "home")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := h.writeFile("pyodide.mjs", pyodideScript); err != nil {
		return err
	}
	var err error
	if h.cache, err = cache.Open(os.Getenv("CODE_RUNNER_CACHE_DIR")); err != nil {
		return err
	}
	h.fetch = fetch.New(h.cache, fetch.Options{})
	if err := h.openOurs(ctx, binary); err != nil {
		return err
	}
	h.openDeno(ctx)
	h.openPyodide(ctx)
	h.openNode(ctx)
	h.openPython(ctx)
	h.openEryx(ctx)
	return ctx.Err()
}

// writeFile puts a program, or what runs one, where the hosts can read it.
func (h *hosts) writeFile(name string, data []byte) error {
	return os.WriteFile(h.file(name), data, 0o600)
}

func (h *hosts) file(name string) string { return filepath.Join(h.files, name) }

// openOurs also fetches and compiles the runtimes, so that the cache is warm.
func (h *hosts) openOurs(ctx context.Context, binary string) error {
	if binary == "" {
		binary = filepath.Join(h.dir, "coderunner")
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "coderunner/cmd/coderunner")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build coderunner in its module's folder: %w\n%s", err, bytes.TrimSpace(out))
		}
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	h.coderunner = command{path: binary, env: ourEnv(os.Environ(), h.cache.Root()), dir: h.files}
	warm := h.coderunner.with("warm").start(ctx)
	warm.Stderr = os.Stderr
	if err := warm.Run(); err != nil {
		return fmt.Errorf("coderunner warm: %w", err)
	}
	out, _, err := h.coderunner.with("version").run(ctx)
	if err != nil {
		return err
	}
	h.versions = append(h.versions, strings.Split(strings.TrimSpace(out), "\n")...)
	return nil
}

// ourEnv leaves the registries as they are, and our settings at their defaults.
func ourEnv(environ []string, cacheDir string) []string {
	env := []string{"CODE_RUNNER_CACHE_DIR=" + cacheDir}
	for _, v := range environ {
		if !strings.HasPrefix(v, "CODE_RUNNER_") && !strings.HasPrefix(v, "DENO_") {
			env = append(env, v)
		}
	}
	return env
}

// peerEnv is clean: what else is in the environment costs some peers time.
func (h *hosts) peerEnv(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + filepath.Join(h.dir, "home"),
		"NO_COLOR=1",
	}, more...)
}

// openDeno gets the Deno that coderunner runs, too. It keeps transpiled code
// and V8's code cache between runs, as a user's would.
func (h *hosts) openDeno(ctx context.Context) {
	p, executable, err := versions.Deno(os.Getenv("NPM_CONFIG_REGISTRY"))
	if err != nil {
		h.denoErr = err
		return
	}
	dir, err := h.fetch.NPM(ctx, p, nil)
	if err != nil {
		h.denoErr = err
		return
	}
	path := filepath.Join(dir, executable)
	h.deno = command{path: path, dir: h.files, args: []string{"run", "--no-config", "--no-lock", "--no-prompt"}, env: h.peerEnv(
		"DENO_DIR="+filepath.Join(h.dir, "deno"), "DENO_NO_PACKAGE_JSON=1", "DENO_NO_UPDATE_CHECK=1")}
	h.denoErr = h.addVersion(ctx, command{path: path, args: []string{"--version"}, env: h.deno.env, dir: h.files})
}

// openPyodide gets the npm package as upstream publishes it, JavaScript and
// all, and has it take its own snapshot.
func (h *hosts) openPyodide(ctx context.Context) {
	p := versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY"))
	p.Keep, p.Part = nil, ""
	h.pyodide, h.pyodideErr = h.fetch.NPM(ctx, p, nil)
	if h.pyodideErr != nil || h.denoErr != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	h.snapshot = filepath.Join(h.dir, "pyodide.snapshot")
	if _, _, err := h.onDeno("snapshot", h.snapshot).run(ctx); err != nil {
		h.snapshotErr = fmt.Errorf("take Pyodide's own snapshot: %w", err)
	}
}

func (h *hosts) openNode(ctx context.Context) {
	path, err := exec.LookPath("node")
	if err != nil {
		h.nodeErr = fmt.Errorf("find node: %w", errAbsent)
		return
	}
	h.node = command{path: path, dir: h.files, env: h.peerEnv()}
	h.nodeErr = h.addVersion(ctx, h.node.with("--version"))
}

// openPython asks the command for the real executable: it may be a script that
// looks for one.
func (h *hosts) openPython(ctx context.Context) {
	path, err := exec.LookPath("python3")
	if err != nil {
		h.pythonErr = fmt.Errorf("find python3: %w", errAbsent)
		return
	}
	asked := command{path: path, dir: h.files, env: os.Environ(), args: []string{"-c", "import sys; print(sys.executable)"}}
	out, _, err := asked.run(ctx)
	if err != nil {
		h.pythonErr = err
		return
	}
	h.python = command{path: strings.TrimSpace(out), dir: h.files, env: h.peerEnv()}
	h.pythonErr = h.addVersion(ctx, h.python.with("--version"))
}

// addVersion notes the first line of what a command says of itself.
func (h *hosts) addVersion(ctx context.Context, c command) error {
	out, _, err := c.run(ctx)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if !strings.ContainsRune(first, ' ') {
		first = c.name() + " " + first
	}
	h.peerVersions = append(h.peerVersions, first)
	return nil
}

// onDeno is Pyodide under Deno in one of the modes of guest/pyodide.mjs.
func (h *hosts) onDeno(mode string, args ...string) command {
	return h.deno.with("--allow-all", h.file("pyodide.mjs"), mode, h.pyodide).with(args...)
}

// onNode is the same under Node.
func (h *hosts) onNode(mode string, args ...string) command {
	return h.node.with(h.file("pyodide.mjs"), mode, h.pyodide).with(args...)
}
