package resolver

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
)

// guest has the Python half: the package resolver.
//
//go:embed all:guest
var guest embed.FS

const resolverScript = "import resolver\nresolver.answer()\n"

// resolverTree is the directory to be mounted in site-packages.
var resolverTree = func() fs.FS {
	sub, err := fs.Sub(guest, "guest")
	if err != nil {
		panic(err) // it is embedded
	}
	return sub
}()

// resolverDigest changes whenever the script does.
var resolverDigest = HashFiles(resolverTree)

// HashFiles returns a digest of the names and contents of embedded files.
func HashFiles(files fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		fmt.Fprintf(h, "%s %d %s", name, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // they are embedded
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// session is the state of one request. Its fields belong to the resolver script's
// goroutine, except downloaded.
type session struct {
	*Resolver
	progress    runners.ProgressFunc
	locked      *Locked // see [Request]
	pages       map[string]*project
	unreachable bool              // the index or one of its files could not be reached
	lost        map[string]string // packages of the lock file that could not be fetched, and why

	downloading sync.Mutex
	downloaded  map[string]bool   // by SHA-256; guarded by downloading
	costly      map[string]bool   // files whose libraries are ErrTooCostly; guarded by downloads.mu
	avoided     int               // how many of costly and unbuilt the resolver knows
	unbuilt     map[string]string // by project: why its sdist cannot be built; written under downloading
	wheelsOnly  bool              // no sdist is built
}

// question is the input of the resolver script.
type question struct {
	Requirements []string             `json:"requirements"`
	Optional     []string             `json:"optional"`
	Constraints  []string             `json:"constraints"`
	Lock         map[string]lockOffer `json:"lock"`
	Alone        bool                 `json:"alone"`
}

// reply is its output.
type reply struct {
	Invalid  []runners.PackageError `json:"invalid"`
	Failed   []runners.PackageError `json:"failed"`
	Skipped  []runners.PackageError `json:"skipped"`
	Packages []struct {
		Name     string `json:"name"`
		Version  string `json:"version"`
		Filename string `json:"filename"` // "" for one of the lock file

		Needs []string `json:"needs"`
	} `json:"packages"`
}

// ask runs the resolver script and makes an answer of its reply.
func (s *session) ask(ctx context.Context, req Request) (*answer, error) {
	s.progress(runners.Progress{Phase: "resolve", Item: summary(req)})
	probed := s.probeBase(ctx)
	tools, err := s.tools(ctx)
	<-probed
	if err != nil {
		return nil, s.allFailed(ctx, req, err)
	}
	offers, reasons := s.offered()
	q := question{Requirements: requirement.Key(req.Requirements), Optional: requirement.Key(req.Optional), Constraints: requirement.Key(req.Constraints), Lock: offers, Alone: req.Alone}
	var got *reply
	calls := map[string]Call{
		"question": func(context.Context, []byte) (any, error) { return q, nil },
		"project":  s.callProject,
		"metadata": s.callMetadata,
		"platform": s.callPlatform,
		"answer": func(_ context.Context, argument []byte) (any, error) {
			got = &reply{}
			return nil, json.Unmarshal(argument, got)
		},
	}
	if err := s.trusted.Script(ctx, resolverScript, append(tools, resolverTree), calls); err != nil {
		return nil, fmt.Errorf("resolve packages: %w", err)
	}
	if got == nil {
		return nil, errors.New("resolve packages: the resolver gave no answer")
	}
	return s.accept(req, got, reasons)
}

// accept checks the resolver's reply.
func (s *session) accept(req Request, got *reply, lockReasons map[string]string) (*answer, error) {
	for _, bad := range got.Invalid {
		return nil, &runners.RequestError{
			Argument: "packages",
			Message:  fmt.Sprintf("packages: %q is not a Python requirement: %s", bad.Name, bad.Reason),
		}
	}
	if len(got.Failed) > 0 {
		s.addReasons(got.Failed, lockReasons)
		return nil, &runners.NotInstalledError{Packages: got.Failed}
	}
	s.addReasons(got.Skipped, lockReasons)
	a := &answer{Format: answerFormat, When: time.Now().UTC(), Skipped: got.Skipped}
	for _, p := range got.Packages {
		pin, err := s.pin(p.Name, p.Version, p.Filename)
		if err != nil {
			return nil, err
		}
		pin.Needs = p.Needs
		a.Packages = append(a.Packages, pin)
	}
	if left := missing(req.Requirements, a.Packages); len(left) > 0 {
		return nil, fmt.Errorf("resolve packages: the resolver left out %s", strings.Join(left, ", "))
	}
	a.Pinned = s.locked != nil || pinned(req.Requirements, a.Packages)
	return a, nil
}

// addReasons adds to failed packages why the lock file's builds cannot be
// installed.
func (s *session) addReasons(failed []runners.PackageError, lockReasons map[string]string) {
	for i, f := range failed {
		r, err := requirement.Parse(f.Name)
		if why := lockReasons[r.Name]; err == nil && why != "" && r.Allows(s.lock.ByName[r.Name].Version) {
			failed[i].Reason += "; " + why
		}
	}
}

// pin returns the wheel that the resolver named.
func (s *session) pin(name, version, filename string) (pin, error) {
	if filename == "" {
		p, ok := s.lock.ByName[name]
		if !ok {
			return pin{}, fmt.Errorf("resolve packages: %s is not in the lock file", name)
		}
		return pin{
			Name: name, Version: p.Version, Filename: p.FileName, SHA256: p.SHA256, Source: sourcePyodide,
			URL: s.base.JoinPath(p.FileName).String(),
		}.withoutUser(), nil
	}
	page := s.pages[name]
	if page == nil {
		return pin{}, fmt.Errorf("resolve packages: %s was not requested", name)
	}
	f, ok := page.byFilename[filename]
	if !ok {
		return pin{}, fmt.Errorf("resolve packages: %s has no file %s", name, filename)
	}
	return pin{
		Name: name, Version: f.Version, Filename: filename, SHA256: f.file.SHA256, Source: sourcePyPI,
		Strip: f.strip, URL: f.file.URL,
	}.withoutUser(), nil
}

// allFailed returns every requirement the same reason, when the resolver itself
// is out of reach.
func (s *session) allFailed(ctx context.Context, req Request, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("resolve packages: %w", context.Cause(ctx))
	}
	reason, expected := s.reason(err)
	if !expected {
		return err
	}
	s.unreachable = true
	failed := &runners.NotInstalledError{}
	for _, r := range req.Requirements {
		failed.Add(r.String(), reason)
	}
	if len(failed.Packages) == 0 {
		for _, r := range req.Optional {
			failed.Add(r.String(), reason)
		}
	}
	return failed
}

// baseError is a package of the lock file that could not be fetched.
type baseError struct {
	name string
	err  error
}

func (e *baseError) Error() string { return e.name + ": " + e.err.Error() }
func (e *baseError) Unwrap() error { return e.err }

// lose records that a package of the lock file cannot be fetched, so that the index
// is tried. It reports whether that is new.
func (s *session) lose(lost *baseError) bool {
	if s.lost == nil {
		s.lost = map[string]string{}
	}
	if s.lost[lost.name] != "" || errors.Is(lost.err, fetch.ErrOffline) {
		return false
	}
	s.lost[lost.name], _ = s.reason(lost.err)
	status, answered := errors.AsType[*fetch.HTTPError](lost.err)
	_, wrong := errors.AsType[*fetch.DigestError](lost.err)
	if !wrong && (!answered || status.Status != 404) {
		s.noteBase(false)
	}
	return true
}

// avoidCostly excludes files that have turned out to be too costly. It reports
// whether there is a new one.
func (s *session) avoidCostly() bool {
	s.downloading.Lock()
	n := len(s.costly) + len(s.unbuilt)
	s.downloading.Unlock()
	if n == s.avoided {
		return false
	}
	s.avoided = n
	clear(s.pages)
	return true
}

// probeBase finds out whether the base URL can be reached, unless that is known.
// The channel is closed when it is known.
func (s *session) probeBase(ctx context.Context) <-chan struct{} {
	known := make(chan struct{})
	s.mu.Lock()
	recent := time.Since(s.baseAsked) < baseRetry
	s.mu.Unlock()
	if recent || s.fetch.Offline() {
		close(known)
		return known
	}
	go func() {
		defer close(known)
		_, err := s.fetch.Get(ctx, s.base.JoinPath(versions.PyodideLock).String(), nil, maxLock)
		if ctx.Err() != nil {
			return
		}
		// Any HTTP answer shows that the base can be reached.
		_, answered := errors.AsType[*fetch.HTTPError](err)
		_, large := errors.AsType[*fetch.SizeError](err)
		s.noteBase(err == nil || answered || large)
	}()
	return known
}

// maxLock bounds a lock file in bytes.
const maxLock = 16 << 20

// noteBase records whether the base URL could be reached.
func (r *Resolver) noteBase(reached bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.baseAsked, r.baseErr = time.Now(), ""
	if !reached {
		r.baseErr = hostOf(r.base) + " cannot be reached"
	}
}

// BaseUnreachable returns the reason why the base URL of Pyodide's packages is not
// tried, "" when it is.
func (r *Resolver) BaseUnreachable() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.baseErr
}

// summary returns the request's name in progress messages.
func summary(req Request) string {
	names := map[string]bool{}
	for _, r := range append(append([]requirement.Requirement(nil), req.Requirements...), req.Optional...) {
		names[r.Name] = true
	}
	if len(names) > 3 {
		return fmt.Sprintf("%d packages", len(names))
	}
	var list []string
	for name := range maps.Keys(names) {
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

func dirs(paths ...string) []fs.FS {
	var trees []fs.FS
	for _, p := range paths {
		trees = append(trees, os.DirFS(p))
	}
	return trees
}
