package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/versions"
)

//go:embed guest testdata
var files embed.FS

type options struct {
	only                   *regexp.Regexp
	rounds                 int
	binary, against, cache string
}

// hosts are what programs are run on.
type hosts struct {
	dir    string // the programs; temporary
	cache  string // the caches; kept
	builds []build
	deno   command

	kernels kernels
}

// build is a coderunner and its cache.
type build struct {
	command
	name, version string
}

// ownEnv is what is needed for the registries, and no setting of ours.
func ownEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "CODE_RUNNER_") || strings.HasPrefix(v, "DENO_PERMISSION_ARGS=")
	})
}

// open builds our binary, unless one is given, fills the caches and finds Deno.
func (h *hosts) open(ctx context.Context, o options, progress io.Writer) error {
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(dir, "coderunner-bench")
	}
	h.cache = o.cache
	if err := os.MkdirAll(h.cache, 0o700); err != nil {
		return err
	}
	fmt.Fprintln(progress, "filling the caches in", o.cache)
	if o.binary == "" {
		o.binary = filepath.Join(h.cache, "built")
		build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", o.binary, "coderunner/cmd/coderunner")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are: with libc a start takes 1.5 ms more
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build coderunner in its module's directory: %w\n%s", err, out)
		}
	}
	for i, path := range []string{o.binary, o.against} {
		if path == "" {
			continue
		}
		b := build{name: []string{"coderunner", "against"}[i]}
		path, err := h.install(path, b.name+"-installed")
		if err != nil {
			return err
		}
		b.command = command{path: path, env: append(ownEnv(), "CODE_RUNNER_CACHE_DIR="+filepath.Join(o.cache, b.name))}
		if _, err := b.run(ctx, "warm"); err != nil {
			return err
		}
		version, err := b.run(ctx, "version")
		if err != nil {
			return err
		}
		b.version = strings.ReplaceAll(strings.TrimSpace(version), "\n", ", ")
		h.builds = append(h.builds, b)
	}
	return h.openDeno(ctx, filepath.Join(o.cache, "deno"))
}

// install copies a binary, as it is before anyone runs it, and not to where programs are, which
// see what is beside them. What the linker has written itself starts 2 ms later: it writes through
// a mapping, and the kernel keeps such a file in small folios.
func (h *hosts) install(binary, name string) (path string, err error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return "", err
	}
	path = filepath.Join(h.cache, name)
	_ = os.Remove(path) // in whose place the kernel would keep what it has
	return path, os.WriteFile(path, data, 0o700)
}

// openDeno fetches the Deno of our pinned version, as its makers publish it. It keeps packages,
// transpiled code and V8's code cache between runs, as a user's would.
func (h *hosts) openDeno(ctx context.Context, dir string) error {
	for _, name := range []string{"pyodide.mjs", "shared.mjs", "fresh_eryx.py"} {
		script, err := files.ReadFile("guest/" + name)
		if err == nil {
			err = h.write(name, string(script))
		}
		if err != nil {
			return err
		}
	}
	p, executable, err := versions.Deno(os.Getenv("NPM_CONFIG_REGISTRY"))
	if err != nil {
		return err
	}
	c, err := cache.Open(filepath.Join(h.cache, "peer"))
	if err != nil {
		return err
	}
	defer c.Close()
	client := fetch.New(c, fetch.Options{})
	defer client.Close()
	path, err := client.NPM(ctx, p, nil)
	h.deno = command{path: filepath.Join(path, executable), env: append(ownEnv(), "NO_COLOR=1", "DENO_DIR="+dir, "DENO_NO_PACKAGE_JSON=1", "DENO_NO_UPDATE_CHECK=1")}
	return err
}

// pyodide names the package of the Pyodide that our build hosts.
func (h *hosts) pyodide() string {
	_, version, _ := strings.Cut(h.builds[0].version, "pyodide ")
	version, _, _ = strings.Cut(version, ",")
	return "npm:pyodide@" + version
}

func (h *hosts) write(name, text string) error {
	return os.WriteFile(h.file(name), []byte(text), 0o600)
}

func (h *hosts) file(name string) string { return filepath.Join(h.dir, name) }
