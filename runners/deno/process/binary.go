package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/deno/deps"

	"deps.dev/util/semver"
	"go.uber.org/zap"
)

// CheckBinary finds the Deno that the user named and returns its absolute path and
// its version. A version before versions.DenoOldest is an error.
func CheckBinary(name string) (path, version string, err error) {
	fail := func(err error) (string, string, error) {
		return "", "", fmt.Errorf("use Deno %s: %w", name, err)
	}
	path = name
	if !strings.ContainsRune(name, filepath.Separator) {
		if path, err = exec.LookPath(name); err != nil {
			return fail(errors.Unwrap(err))
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return fail(err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail(err)
	case info.IsDir():
		return fail(errors.New("it is a directory; name the program in it"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
	cmd.WaitDelay = time.Second
	out := runners.NewCapture(1 << 10)
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return fail(fmt.Errorf("ask for its version: %w", err))
	}
	answer, _ := out.Text()
	fields := strings.Fields(answer)
	if len(fields) < 2 || fields[0] != "deno" {
		return fail(fmt.Errorf("it answers --version with %q, not as Deno does", deps.Shorten(answer, 60)))
	}
	version = fields[1]
	if older(version, versions.DenoOldest) {
		return fail(fmt.Errorf("its version is %s; %s or later is needed", version, versions.DenoOldest))
	}
	return path, version, nil
}

// Version returns the version of a Deno that a configuration names, the pinned one's if it
// names none.
func Version(binary string) (version string, err error) {
	if binary == "" {
		return versions.DenoVersion, nil
	}
	_, version, err = CheckBinary(binary)
	return version, err
}

// older reports whether a version like 2.9.6 is before another. What is not a
// version is old.
func older(version, than string) bool {
	v, err := semver.NPM.Parse(version)
	w, werr := semver.NPM.Parse(than)
	return err != nil || werr != nil || v.Compare(w) < 0
}

// NewTool returns the tool of a configuration. It checks a Deno that this names.
func NewTool(cfg Config) (*Tool, error) {
	t := &Tool{Config: cfg, Log: cfg.Log, Version: versions.DenoVersion, DenoDir: cfg.Cache.Path("deno"),
		Fetch: fetch.New(cfg.Cache, fetch.Options{Offline: cfg.Offline})}
	t.Log = cmp.Or(t.Log, zap.NewNop())
	var err error
	if cfg.Binary != "" {
		t.Named, t.Version, err = CheckBinary(cfg.Binary)
	}
	return t, err
}

// Binary returns the path of the Deno to use, and fetches the pinned one if it is
// not cached. The cache verifies it each time.
func (t *Tool) Binary(ctx context.Context, progress runners.ProgressFunc) (string, error) {
	if t.Named != "" {
		return t.Named, nil
	}
	item := "deno " + versions.DenoVersion
	p, executable, err := versions.Deno(t.Config.NPMRegistry)
	if err != nil {
		return "", err
	}
	report := func(done, total int64) {
		progress.Report(runners.Progress{Phase: "download", Item: item, Done: done, Total: total})
	}
	if runtime.GOOS == "linux" && !t.Config.Portable {
		return t.relocated(ctx, p, report)
	}
	dir, err := t.Fetch.NPM(ctx, p, report)
	return filepath.Join(dir, executable), err
}

// Tool is the Deno of a Runner: its binary, cache and environment, and its
// commands of the trusted phase.
type Tool struct {
	Config  Config
	Log     *zap.Logger
	Named   string // the Deno that Config names, "" if none
	Version string
	DenoDir string // DENO_DIR
	Fetch   *fetch.Client

	ranges sync.Map // what readOnly returned, by path
}

// Versions returns Deno's version.
func (t *Tool) Versions() map[string]string { return map[string]string{"deno": t.Version} }

// Fits reports whether a version of a package of npm is in a range, or the range is none that
// can be read, such as a tag.
func Fits(version, asked string) bool {
	c, err := semver.NPM.ParseConstraint(asked)
	return err != nil || c.Match(version)
}
