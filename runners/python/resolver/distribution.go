package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coderunner/internal/fetch"
	"coderunner/internal/versions"
	"coderunner/runners/python/index"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/wheel"
)

// NotFetched is in the reasons why Pyodide's own builds cannot be installed.
const NotFetched = "cannot be fetched: "

// offered returns the usable packages of the lock file: those that fit, are not
// known to be missing, and depend only on usable ones. reasons has the others.
func (s *session) offered() (offers map[string]lockfile.Package, reasons map[string]string) {
	offers, reasons = map[string]lockfile.Package{}, map[string]string{}
	baseErr := s.BaseUnreachable()
	for name, p := range s.lock.ByName {
		if !s.usable(name, p) || s.locked != nil && !s.locked.allows(name, p.SHA256) {
			continue
		}
		build := fmt.Sprintf("Pyodide's own build of %s %s ", name, p.Version)
		switch {
		case baseErr != "":
			reasons[name] = build + NotFetched + baseErr
		case s.lost[name] != "":
			reasons[name] = build + NotFetched + s.lost[name]
		default:
			offers[name] = p
		}
	}
	for changed := true; changed; {
		changed = false
		for name, offer := range offers {
			for _, d := range offer.Depends {
				if _, ok := offers[d]; !ok {
					delete(offers, name)
					if reasons[d] != "" && reasons[name] == "" {
						reasons[name] = fmt.Sprintf("Pyodide's own build of %s %s needs %s: %s", name, offer.Version, d, reasons[d])
					}
					changed = true
					break
				}
			}
		}
	}
	return offers, reasons
}

// usable reports whether a package of the lock file can be used here: a wheel that
// fits, or libraries that others need.
func (r *Resolver) usable(name string, p lockfile.Package) bool {
	if p.Type == "shared_library" {
		return strings.HasSuffix(p.FileName, ".zip")
	}
	n, err := wheel.ParseName(p.FileName)
	return p.Type == "package" && err == nil && n.Project == name && r.fit(n).ok
}

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

// probeBase finds out whether the base URL can be reached, unless that is known.
// The channel is closed when it is known.
func (r *Resolver) probeBase(ctx context.Context) <-chan struct{} {
	known := make(chan struct{})
	r.mu.Lock()
	recent := time.Since(r.baseAsked) < baseRetry
	r.mu.Unlock()
	if recent || r.fetch.Offline() {
		close(known)
		return known
	}
	go func() {
		defer close(known)
		_, err := r.fetch.Get(ctx, r.base.JoinPath(versions.PyodideLock).String(), nil, 1)
		if ctx.Err() != nil {
			return
		}
		// Any HTTP answer shows that the base can be reached.
		_, answered := errors.AsType[*fetch.HTTPError](err)
		_, large := errors.AsType[*fetch.SizeError](err)
		r.noteBase(err == nil || answered || large)
	}()
	return known
}

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

// Indexed reports whether the index has a wheel of a project that fits.
func (r *Resolver) Indexed(ctx context.Context, project string) bool {
	s := &session{Resolver: r}
	files, err := s.page(ctx, project)
	return err == nil && slices.ContainsFunc(files, func(f index.File) bool {
		n, err := wheel.ParseName(f.Filename)
		return err == nil && n.Project == project && !f.Yanked && r.fit(n).ok
	})
}

// Missing returns the names of the packages whose machine code only the base URL
// has, if it cannot be reached: those that most others of the lock file need come
// first.
func (r *Resolver) Missing(ctx context.Context) (names []string) {
	select {
	case <-r.probeBase(ctx):
	case <-ctx.Done():
	}
	if r.BaseUnreachable() == "" {
		return nil
	}
	needed := map[string]int{}
	for name, p := range r.lock.ByName {
		if strings.HasSuffix(p.FileName, ".whl") && !strings.HasSuffix(p.FileName, "-any.whl") && r.usable(name, p) {
			names = append(names, name)
		}
		for _, d := range p.Depends {
			needed[d]++
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(needed[b]-needed[a], strings.Compare(a, b))
	})
	return names
}
