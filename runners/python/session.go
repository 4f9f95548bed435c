package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"coderunner/internal/order"
	"coderunner/internal/pool"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/install"
	"coderunner/runners/python/process"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// A session's interpreter is kept after its program, and written to disk before
// the program's outcome is returned: what differs from the snapshot that it was
// made of, that snapshot, and which packages are mounted.

// The files of a saved interpreter, besides runners.SavedBase.
const (
	savedMemory   = "memory"
	savedLayer    = "layer" // pages that several states have; not always there
	savedPackages = "packages.json"
)

// The bounds of the interpreters that are kept.
const (
	maxLive     = 8
	maxLiveTime = 10 * time.Minute // idle
)

// live is a session's interpreter.
type live struct {
	in       *pyodide.Interp
	procs    *process.Table
	release  func()                // of the snapshot that it was made of
	state    string                // as which it was kept
	threads  bool                  // a call ended with threads that still ran
	files    []runners.SessionFile // in its home
	own      string                // its last program's file
	packages install.State
	saved    []byte // packages, as they were saved last
}

// newSessions returns where interpreters of sessions wait for their next program,
// by the session's key.
func newSessions(log *zap.Logger) *pool.Pool[string, *live] {
	return pool.New(pool.Options[string, *live]{
		New:     func(context.Context, string) (*live, error) { return nil, nil },
		Reset:   func(l *live) (*live, error) { return l, nil },
		Close:   func(l *live) { l.close(log) },
		MaxUsed: maxLive, MaxIdleTime: maxLiveTime,
	})
}

func (l *live) close(log *zap.Logger) {
	if l == nil {
		return
	}
	if err := l.in.Close(); err != nil {
		log.Error("close a session's interpreter", zap.Error(err))
	}
	l.release()
}

// continueSession finds the session's interpreter and sets what is known of it:
// its packages. It is made at the start of the program if it is on disk.
func (j *job) continueSession(ctx context.Context) error {
	s := j.req.Session
	if s == nil {
		return nil
	}
	j.continued = &runners.Continued{Origin: runners.OriginFresh}
	if s.Before == "" {
		return nil
	}
	l, err := j.r.sessions.Get(ctx, s.Key)
	if err != nil {
		return err
	}
	if l != nil && l.state == s.Before {
		j.live, j.threadless, j.continued.Origin = l, l.threads, runners.OriginLive
		j.pk.Resume(l.packages)
		j.keepSaved(l.in.Layered())
		return nil
	}
	l.close(j.r.log)
	begun := time.Now()
	defer func() { j.pk.Spent(begun) }()
	if j.saved, err = s.Saved(); err == nil && j.saved[savedMemory] == "" {
		err = errors.New("the interpreter could not be saved, and it is no longer there")
	}
	if err == nil {
		err = j.findPackages(ctx)
	}
	if err == nil {
		j.snapshot, err = j.engine.rt.OpenSnapshot(j.saved[savedMemory], j.saved[savedLayer], j.saved[runners.SavedBase], j.pk.Mounts())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.continued.Origin = runners.OriginRestored
	if err != nil {
		return j.lose(err)
	}
	z := j.snapshot
	j.release = func() { j.r.closeSnapshot(z) }
	j.keepSaved(j.saved[savedLayer] != "")
	return nil
}

// keepSaved has the state to come have what was saved before, but for the memory. Whether it
// is whole is found out while the program runs; what is damaged is written again.
func (j *job) keepSaved(layered bool) {
	s, names, kept := j.req.Session, []string{runners.SavedBase, savedPackages}, make(chan bool, 1)
	if s.Keep == nil {
		return
	}
	if layered {
		names = append(names, savedLayer)
	}
	go func() { kept <- s.Keep(names) }()
	j.kept = kept
}

// lose has the program begin without the session's variables, unless it was parked among them.
func (j *job) lose(err error) error {
	if j.parked() {
		return errLost{err}
	}
	j.continued.Origin, j.continued.Lost = runners.OriginLost, err.Error()
	j.snapshot, j.saved = nil, nil
	j.pk.Unmounted()
	j.r.log.Warn("a session's interpreter is lost", zap.Error(err))
	return nil
}

// findPackages finds the packages of a saved interpreter in the cache, or installs
// the same ones again.
func (j *job) findPackages(ctx context.Context) error {
	b, err := os.ReadFile(j.saved[savedPackages])
	if err != nil {
		return err
	}
	var was install.State
	if err := json.Unmarshal(b, &was); err != nil {
		return fmt.Errorf("read %s: %w", savedPackages, err)
	}
	locked := &resolver.Locked{By: "the session", SHA256: map[string][]string{}}
	var together []requirement.Requirement
	requests := []resolver.Request{}
	for name, p := range was.Installed {
		locked.SHA256[name] = []string{p.SHA256}
		r := requirement.Requirement{Name: name, Specifier: "==" + p.Version}
		if slices.Contains(was.Alone, name) {
			requests = append(requests, resolver.Request{Requirements: []requirement.Requirement{r}, Alone: true})
		} else {
			together = append(together, r)
		}
	}
	order.By(together, func(a, b requirement.Requirement) int { return strings.Compare(a.Name, b.Name) })
	if len(together) > 0 {
		requests = append(requests, resolver.Request{Requirements: together})
	}
	found := install.State{Installed: map[string]resolver.Package{}, Alone: was.Alone}
	for _, q := range requests {
		q.Locked, q.Progress = locked, j.req.Progress
		set, err := j.engine.resolver.Prepare(ctx, q)
		if err != nil {
			return fmt.Errorf("its packages cannot be installed again: %w", err)
		}
		for _, p := range set.Packages {
			found.Installed[p.Name] = p
		}
	}
	for name, p := range was.Installed {
		if f, ok := found.Installed[name]; !ok || site.Mount(f).Key != site.Mount(p).Key {
			return fmt.Errorf("its package %s is not the same any more", name)
		}
	}
	if len(found.Installed) != len(was.Installed) {
		return errors.New("its packages need others now")
	}
	j.pk.Resume(found)
	return nil
}

// parked reports whether the program was parked, and goes on.
func (j *job) parked() bool { return j.continued != nil && j.req.Session.Parked }

// parks reports whether the program can be parked as things are: what it has of the host would
// not be there when it goes on.
func (j *job) parks() bool {
	in, known := j.req.Stdin.(*strings.Reader)
	reads := j.req.Stdin != nil && (!known || in.Size() > 0) // how much it has read is not known
	return j.continued != nil && !reads && j.req.Project == nil && j.procs.Parks()
}

// errLost is the error of a parked program whose interpreter is gone.
type errLost struct{ error }

// startSession makes or continues the session's interpreter.
func (j *job) startSession(ctx context.Context, o pyodide.Options) (err error) {
	if j.live != nil {
		j.in = j.live.in
		j.in.Attach(o)
		return j.populate(j.in)
	}
	o.Populate = j.populate
	j.in, err = j.engine.rt.New(ctx, o)
	if err != nil && j.saved != nil && ctx.Err() == nil {
		if err := j.lose(err); err != nil {
			return err
		}
		if err := j.makeProcesses(ctx, &o); err != nil {
			return err
		}
		o.From = nil
		j.in, err = j.engine.rt.New(ctx, o)
	}
	return err
}

func (r *Runner) closeSnapshot(z *pyodide.Snapshot) {
	if err := z.Close(); err != nil {
		r.log.Warn("close a session's snapshot", zap.Error(err))
	}
}

// populate makes the interpreter's home what the session's directory is, and mounts
// directories of the host, which a live interpreter has.
func (j *job) populate(in *pyodide.Interp) error {
	var have []runners.SessionFile
	if j.live == nil {
		if err := errors.Join(j.host.Mount(in), j.mountProject()); err != nil {
			return err
		}
	} else {
		have = j.live.files
		if own := j.live.own; (j.req.Project == nil || own != j.req.Project.Program) && !slices.ContainsFunc(j.req.Session.Files, func(f runners.SessionFile) bool { return f.Path == own }) {
			_ = in.Remove(own) // the program may have
		}
	}
	remove, write := runners.Changes(have, j.req.Session.Files)
	for _, name := range remove {
		if err := in.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for _, f := range write {
		var data []byte
		if f.Mode.IsRegular() {
			var err error
			if data, err = f.Read(); err != nil {
				return err
			}
		}
		if err := in.Put(f.Path, f.Mode, data, f.Target); err != nil {
			return err
		}
	}
	return nil
}

// keepSession takes the files that a program left, and keeps the interpreter and saves it
// meanwhile, if it can go on. Otherwise it is closed.
func (j *job) keepSession(res *pyodide.Result, runErr error) error {
	k, s := j.continued, j.req.Session
	l := j.live
	if l == nil {
		l = &live{in: j.in, procs: j.procs, release: j.release}
	}
	j.in, j.live, j.release = nil, nil, func() {} // l has them
	var leaving errgroup.Group
	if runErr == nil {
		leaving.Go(j.leave)
	}
	usable := runErr == nil && l.in.Usable()
	parked := runErr == nil && res.Ended == pyodide.Parked
	if s.Rollback && usable && !parked {
		usable = res.Ended == pyodide.Finished && res.Exception == nil && res.ExitCode == 0
	}
	var err error
	if usable {
		l.threads = l.threads || res.ThreadsEnded > 0
		l.state, l.own, l.packages = s.After, shownName(j.req), j.pk.Current()
		if err = l.save(s, j.kept, k.Origin != runners.OriginLost); err == nil {
			err = s.KeepPlaceholders(l.procs.Placeholders())
		}
		if errors.Is(err, pyodide.ErrUnfit) && !parked {
			k.Unsaved = strings.TrimPrefix(err.Error(), "snapshot: "+pyodide.ErrUnfit.Error()+": ")
			err = clean(s.Save)
		}
		if err != nil {
			err = fmt.Errorf("save the session: %w", err)
		}
	}
	if err = errors.Join(runErr, err, leaving.Wait()); err != nil || !usable {
		l.close(j.r.log)
		return err
	}
	l.files = j.sessionFiles
	k.Kept, k.ThreadsEnded, k.Exited = true, res.ThreadsEnded, res.Exited
	j.r.sessions.Put(s.Key, l)
	for _, v := range res.Variables {
		k.Variables = append(k.Variables, runners.Variable{Name: runners.Clip(v.Name, runners.MaxVariableText), Type: runners.Clip(v.Type, runners.MaxVariableText)})
	}
	k.VariablesOmitted = res.VariablesOmitted
	return nil
}

// clean removes what a runner has begun to save.
func clean(dir string) error {
	for _, name := range []string{savedMemory, savedLayer, savedPackages, runners.SavedBase} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// save writes the interpreter. whole, if it is not nil, tells whether what was saved before
// is kept, goesOn whether the interpreter has that.
func (l *live) save(s *runners.Session, whole <-chan bool, goesOn bool) error {
	b, err := json.Marshal(l.packages)
	if err != nil {
		return err
	}
	f := s.Saving(savedMemory)
	base, same := l.in.Base(), bytes.Equal(b, l.saved)
	kept := whole != nil && <-whole && goesOn && base != nil
	if whole != nil && !kept {
		s.Keep(nil)
	}
	err = l.in.Snapshot(f, !kept, func() (*os.File, error) {
		file := filepath.Join(s.Save, savedLayer)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o400) // it is mapped
	})
	if err := f.Close(err); err != nil {
		return err
	}
	if base != nil && !kept {
		if err := linkOrCopy(s, base); err != nil {
			return err
		}
	}
	if kept && same {
		return nil
	}
	l.saved = b
	return os.WriteFile(filepath.Join(s.Save, savedPackages), b, 0o400)
}

// linkOrCopy makes the session's base another name of an open file, or a copy where that
// is not possible: the file may have been evicted, or be on another disk.
func linkOrCopy(s *runners.Session, f *os.File) error {
	to := filepath.Join(s.Save, runners.SavedBase)
	open, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(f.Name()); err == nil && os.SameFile(named, open) && s.LinkTo(f.Name(), runners.SavedBase) == nil {
		return nil
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(f, 0, open.Size()))
	return errors.Join(err, out.Close())
}
