package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"coderunner/cache"
	"coderunner/runners"
)

// session is the request's.
func (s *served) session() (*runners.Session, error) {
	if s.req.Session == nil {
		return nil, errors.New("the run has no session")
	}
	return s.req.Session, nil
}

// inSession makes a handler of a function on the run's session.
func inSession[A, R any](f func(s *served, ctx context.Context, x *runners.Session, argument A) (R, error)) handler {
	return data(func(s *served, ctx context.Context, argument A) (result R, err error) {
		x, err := s.session()
		if err != nil {
			return result, err
		}
		return f(s, ctx, x, argument)
	})
}

// savedFiles shows the worker what was saved: other names of the files, in the directory
// that it may read.
func (s *served) savedFiles(_ context.Context, x *runners.Session, _ struct{}) (map[string]string, error) {
	files, err := x.Saved()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.w.shown(), "saved-")
	if err != nil {
		return nil, err
	}
	shown := map[string]string{}
	for name, path := range files {
		shown[name] = filepath.Join(dir, filepath.Base(name))
		if err := linkOrCopy(path, shown[name]); err != nil {
			return nil, fmt.Errorf("show what the session has saved: %w", err)
		}
	}
	return shown, nil
}

// file opens a file of the session's directory, by its place in the list.
func (s *served) file(_ context.Context, i int) (any, *os.File, error) {
	x, err := s.session()
	if err != nil {
		return nil, nil, err
	}
	if i < 0 || i >= len(x.Files) || !x.Files[i].Mode.IsRegular() {
		return nil, nil, errors.New("the session has no such file")
	}
	f, err := os.Open(x.Files[i].Source)
	return nil, f, err
}

// link makes what the worker saves another name of what is there already: what was saved
// before, or a snapshot of the cache.
func (s *served) link(_ context.Context, x *runners.Session, l link) (any, error) {
	snapshot, err := filepath.Rel(s.w.p.o.Cache.Path(cache.Files, "snapshot"), l.From)
	own, err2 := filepath.Rel(s.w.shown(), l.From)
	if !(err2 == nil && filepath.IsLocal(own) || err == nil && filepath.IsLocal(snapshot) && filepath.Base(snapshot) == "data") {
		return nil, errors.New("it is not there to be linked to")
	}
	if !slices.Contains(savedNames, l.Name) {
		return nil, fmt.Errorf("a session saves no %.100q", l.Name)
	}
	return nil, x.LinkTo(l.From, l.Name)
}

// keep gives the session what was saved before.
func (s *served) keep(_ context.Context, x *runners.Session, names []string) (bool, error) {
	for _, name := range names {
		if !slices.Contains(savedNames, name) {
			return false, fmt.Errorf("a session saves no %.100q", name)
		}
	}
	return x.Keep != nil && x.Keep(names), nil
}

// savedNames are the files that runners save.
var savedNames = []string{"memory", "layer", runners.SavedBase, "packages.json", "state.sh", "placeholders.json"}

// leave takes the files that the program has left. The worker is told what the session has
// now, without contents.
func (s *served) leave(ctx context.Context, x *runners.Session, l leaving) ([]runners.SessionFile, error) {
	entries := 0
	for _, list := range l.Told.Dirs {
		entries += len(list)
	}
	if entries > maxTold {
		return nil, errors.New("a worker tells too much")
	}
	left, err := x.Leave(leftFS{ctx, s, l.Told}, l.Own)
	s.mu.Lock()
	s.left = &left
	s.mu.Unlock()
	return left.All, err
}

// saveSmall takes what the worker saves without a file. For what is none of a session's, the
// outcome is an error.
func (s *served) saveSmall(body []byte) {
	name, data, _ := bytes.Cut(body, []byte("\n"))
	if len(body) > runners.MaxSmall+100 || !slices.Contains(savedNames, string(name)) {
		name, data = nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.small == nil {
		s.small = map[string][]byte{}
	}
	s.small[string(name)] = data
}

// takeSmall gives the session what saveSmall took.
func (s *served) takeSmall() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, data := range s.small {
		if name == "" || s.req.Session == nil || s.req.Session.SaveSmall == nil {
			return errors.New("a worker saves what is none of a session's")
		}
		if err := s.req.Session.SaveSmall(name, data); err != nil {
			return err
		}
	}
	return nil
}

// takeSaved moves what the worker has written to where the session wants it. Native code in the
// worker's place may change it meanwhile: no link there is followed, and the session takes regular
// files only.
func (s *served) takeSaved() error {
	if err := s.takeSmall(); err != nil || s.dir == "" {
		return err
	}
	if list, err := os.ReadDir(s.dir); err == nil && len(list) == 0 {
		return nil
	}
	err := inRoots(s.w.written(), s.req.Session.Save, func(theirs, ours *os.Root) error {
		rel := filepath.Base(s.dir)
		dir, err := theirs.Open(rel)
		if err != nil {
			return err
		}
		defer dir.Close()
		at := s.dir
		if runtime.GOOS == "linux" { // the path may lead elsewhere by now
			at = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
		}
		list, err := dir.ReadDir(len(savedNames) + 1)
		if err != nil && err != io.EOF {
			return err
		}
		for _, e := range list {
			name := e.Name()
			if !slices.Contains(savedNames, name) {
				return fmt.Errorf("a session saves no %.100q", name)
			}
			if os.Rename(filepath.Join(at, name), filepath.Join(ours.Name(), name)) == nil {
				continue
			}
			_ = ours.Remove(name) // as a rename does; the session is on another disk
			from := filepath.Join(rel, name)
			if err := errors.Join(copyFile(theirs, from, ours, name, maxCode), theirs.Remove(from)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take what a session has saved: %w", err)
	}
	return nil
}
