package deno

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// prepareLimit bounds one preparation.
const prepareLimit = 5 * time.Minute

// prepared is what a run needs of its packages. It is never changed.
type prepared struct {
	dir      string // with map.json, packages.js and deno.lock; "" if there is nothing to fetch
	locked   bool   // there is a deno.lock
	packages []runners.Package
	remote   bool   // modules that came from URLs are there
	npm      bool   // packages of npm are there
	set      string // stands for the packages, in exactly these versions
	fresh    bool   // nobody had prepared it before
}

// there reports whether the folder is still in the cache, which somebody may
// have emptied meanwhile.
func (p *prepared) there() bool {
	_, err := os.Lstat(filepath.Join(p.dir, mapName))
	return err == nil
}

// The files of a prepared folder.
const (
	mapName    = "map.json"
	moduleName = "packages.js"
	lockName   = "deno.lock"
)

// key stands for everything that decides what prepare makes.
func (r *Runner) key(d deps.Dependencies) string {
	parts := []any{
		2, r.version, deps.WithoutUser(r.cfg.NPMRegistry), r.cfg.JSRURL, importFlags(r.cfg.Policy, r.cfg.JSRURL),
		d.Imports, d.Module(),
	}
	if d.Lock != nil {
		parts = append(parts, string(d.Lock))
	}
	b, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// prepare fetches what a program imports. It never sees the program, only the
// names of its packages, so nothing in it can run or be read. What was
// prepared once, by any process on this cache, is not prepared again, and has
// the same versions each time.
//
// The error is a *runners.NotInstalledError when packages cannot be installed.
func (r *Runner) prepare(ctx context.Context, binary string, d deps.Dependencies, progress runners.ProgressFunc) (*prepared, error) {
	if len(d.Targets) == 0 && len(d.Imports) == 0 {
		return &prepared{}, nil
	}
	key := r.key(d)
	if p, ok := r.known.get(key); ok && p.there() {
		return p, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, prepareLimit, errPrepareLimit)
	defer cancel()
	fetched, fresh := map[string]bool{}, false
	dir, err := r.cfg.Cache.Dir(ctx, "deno-graph", key, func(ctx context.Context, dir string) error {
		fresh = true
		return r.resolve(ctx, binary, d, dir, fetched, progress)
	})
	if err != nil {
		return nil, r.explain(ctx, d, err)
	}
	p, err := r.load(dir)
	if err != nil {
		return nil, err
	}
	if err := r.intact(ctx, binary, key, d, p, progress); err != nil {
		return nil, err
	}
	r.known.put(key, p)
	if !fresh {
		return p, nil
	}
	now := *p
	now.fresh = true
	now.packages = make([]runners.Package, len(p.packages))
	for i, pkg := range p.packages {
		pkg.Cached = !fetched[pkg.Name+"@"+pkg.Version] && !fetched[pkg.Name]
		now.packages[i] = pkg
	}
	return &now, nil
}

var errPrepareLimit = fmt.Errorf("fetching the packages took longer than %v", prepareLimit)

// explain turns a limit that ended a preparation into what it means.
func (r *Runner) explain(ctx context.Context, d deps.Dependencies, err error) error {
	if context.Cause(ctx) != errPrepareLimit {
		return err
	}
	e := &runners.NotInstalledError{}
	for _, t := range d.Targets {
		e.Add(t.Asked, errPrepareLimit.Error())
	}
	return e
}

// load reads what resolve wrote.
func (r *Runner) load(dir string) (*prepared, error) {
	lock, text, err := deps.ReadLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	set, err := digestOf(dir, text)
	if err != nil {
		return nil, err
	}
	p := &prepared{dir: dir, set: set, locked: text != nil, packages: lock.Packages(), remote: len(lock.Remote)+len(lock.JSR) > 0, npm: len(lock.NPM) > 0}
	for i := range p.packages {
		p.packages[i].Cached = true
	}
	return p, nil
}

// digestOf gives a digest of the files of a prepared folder, of which the lock
// file has been read.
func digestOf(dir string, lock []byte) (string, error) {
	h := sha256.New()
	for _, name := range []string{mapName, moduleName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read what was prepared: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
	}
	fmt.Fprintf(h, "%s %d\n%s", lockName, len(lock), lock)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// resolve fills dir. Fetched is set for every package that was downloaded, by
// name and version, and every URL.
func (r *Runner) resolve(ctx context.Context, binary string, d deps.Dependencies, dir string, fetched map[string]bool, progress runners.ProgressFunc) error {
	for name, data := range map[string][]byte{mapName: d.ImportMap(), moduleName: []byte(d.Module())} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("prepare packages: %w", err)
		}
	}
	if len(d.Targets) == 0 {
		return nil
	}
	progress.Report(runners.Progress{Phase: "resolve", Item: d.Summary()})
	fetch := cacheCommand{
		lock: filepath.Join(dir, lockName), imports: filepath.Join(dir, mapName), dir: dir, what: moduleName,
		downloaded: func(address string) {
			progress.Report(runners.Progress{Phase: "download", Item: path.Base(address)})
			fetched[r.packageOf(address)] = true
		},
	}
	if fetch.frozen = d.Lock != nil; fetch.frozen {
		if err := os.WriteFile(fetch.lock, d.Lock, 0o600); err != nil {
			return fmt.Errorf("prepare packages: %w", err)
		}
	}
	message, err := r.denoCache(ctx, binary, fetch)
	switch {
	case err != nil:
		return err
	case message != "" && fetch.frozen:
		return r.refused(d, message)
	case message != "":
		return r.blame(ctx, binary, d, dir, message)
	}
	// Its word alone is no proof.
	lock, _, err := deps.ReadLock(fetch.lock)
	switch {
	case err != nil:
	case fetch.frozen:
		err = r.compare(lock)
	case len(lock.Packages()) == 0:
		err = fmt.Errorf("prepare packages: Deno resolved nothing of %s", d.Summary())
	}
	return err
}

// refill fetches again what a prepared folder needs, because somebody emptied
// Deno's cache under it.
func (r *Runner) refill(ctx context.Context, binary string, d deps.Dependencies, p *prepared, progress runners.ProgressFunc) error {
	if p.dir == "" || len(d.Targets) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, prepareLimit, errPrepareLimit)
	defer cancel()
	fetch := cacheCommand{imports: filepath.Join(p.dir, mapName), dir: p.dir, what: moduleName, frozen: p.locked,
		downloaded: func(address string) {
			progress.Report(runners.Progress{Phase: "download", Item: path.Base(address)})
		}}
	if p.locked {
		fetch.lock = filepath.Join(p.dir, lockName)
	}
	message, err := r.denoCache(ctx, binary, fetch)
	switch {
	case err != nil || message == "":
	case d.Lock != nil:
		err = r.refused(d, message)
	default:
		err = r.blame(ctx, binary, d, p.dir, message)
	}
	if err != nil {
		return r.explain(ctx, d, err)
	}
	return nil
}

// jsrManifest is the address of what the JSR registry says of a version.
var jsrManifest = regexp.MustCompile(`/(@[^/]+/[^/]+)/([^/]+)_meta\.json$`)

// packageOf gives the package that a download is of, as NAME@VERSION, or the
// address itself.
func (r *Runner) packageOf(address string) string {
	if m := jsrManifest.FindStringSubmatch(address); m != nil {
		return m[1] + "@" + m[2]
	}
	before, file, ok := strings.Cut(address, "/-/")
	if !ok || !strings.HasSuffix(file, ".tgz") {
		return deps.WithoutUser(address)
	}
	base := path.Base(before)
	name := base
	if scope := path.Base(path.Dir(before)); strings.HasPrefix(scope, "@") {
		name = scope + "/" + base
	}
	version := strings.TrimPrefix(strings.TrimSuffix(path.Base(file), ".tgz"), base+"-")
	return name + "@" + version
}

// blame finds out which targets cannot be had, since Deno says only what it
// met first.
func (r *Runner) blame(ctx context.Context, binary string, d deps.Dependencies, dir, message string) error {
	if len(d.Targets) == 1 {
		return &runners.NotInstalledError{Packages: []runners.PackageError{{Name: d.Targets[0].Asked, Reason: deps.Reason(d.Targets[0], message, r.cfg.Offline)}}}
	}
	reasons := make([]string, len(d.Targets))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, t := range d.Targets {
		g.Go(func() error {
			m, err := r.denoCache(gctx, binary, cacheCommand{dir: dir, what: t.Specifier, downloaded: func(string) {}})
			if m != "" {
				reasons[i] = deps.Reason(t, m, r.cfg.Offline)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	e := &runners.NotInstalledError{}
	for i, t := range d.Targets {
		if reasons[i] != "" {
			e.Add(t.Asked, reasons[i])
		}
	}
	if len(e.Packages) == 0 { // each can be had, but not all of them together
		for _, t := range d.Targets {
			e.Add(t.Asked, deps.Reason(t, message, r.cfg.Offline))
		}
	}
	return e
}

// cacheCommand is one "deno cache".
type cacheCommand struct {
	lock, imports string // files, "" for none
	frozen        bool   // the lock file may not change
	dir           string // the working folder
	what          string // a file or a specifier
	downloaded    func(address string)
}

// denoCache runs "deno cache", which fetches modules and packages, runs
// nothing of them and no lifecycle scripts. Message is Deno's when it could
// not do what it was told; err is ours.
func (r *Runner) denoCache(ctx context.Context, binary string, c cacheCommand) (message string, err error) {
	args := []string{"cache", "--no-config"}
	staging := ""
	if c.lock != "" {
		args = append(args, "--lock="+c.lock)
		if c.frozen {
			args = append(args, "--frozen")
		} else {
			staging = c.dir
		}
	} else {
		args = append(args, "--no-lock")
	}
	if c.imports != "" {
		args = append(args, "--import-map="+c.imports)
	}
	args = append(args, importFlags(r.cfg.Policy, r.cfg.JSRURL)...)
	args = append(args, c.what) // which never looks like a flag
	if _, err := os.Lstat(r.denoDir); errors.Is(err, os.ErrNotExist) {
		// The cache was cleared meanwhile. What is not there when a process is
		// confined, it cannot make.
		if err := makeDenoDir(r.denoDir); err != nil {
			return "", err
		}
	}
	capture := runners.NewCapture(64 << 10)
	state, err := r.starter.Run(ctx,
		process.Command{Path: binary, Args: args, Dir: c.dir, Env: r.prepareEnv(), Spec: r.preparation(binary, c.dir, staging)},
		func(stdout io.Reader) { _, _ = io.Copy(io.Discard, stdout) },
		func(stderr io.Reader) { readLines(stderr, capture, c.downloaded) })
	if err != nil {
		return "", fmt.Errorf("fetch packages: %w", err)
	}
	if state.Success() {
		return "", nil
	}
	text, _ := capture.Text()
	r.log.Debug("packages cannot be had", zap.String("what", c.what), zap.String("stderr", text))
	if text = strings.TrimSpace(text); text == "" {
		text = fmt.Sprintf("deno cache: %v", state)
	}
	return text, nil
}

// readLines calls downloaded for each download that Deno tells of, and writes
// what else it says to w.
func readLines(f io.Reader, w *runners.Capture, downloaded func(string)) {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if address, ok := bytes.CutPrefix(line, []byte("Download ")); ok {
			downloaded(string(bytes.TrimSpace(address)))
		} else if _, werr := w.Write(line); errors.Is(werr, runners.ErrFlood) {
			_, _ = lines.WriteTo(io.Discard)
			return
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
