package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"coderunner/internal/worker/wire"
	"coderunner/runners"
)

// connectSession has the server do what it does for a run's session, which it keeps. tell adds to
// the outcome what the server has not been asked for.
func connectSession(ctx context.Context, conn *wire.Conn, s *runners.Session, left func(fs.FS)) (tell func(*outcome)) {
	for i := range s.Files {
		s.Files[i].Contents = func() ([]byte, error) {
			f, err := conn.Call(ctx, callFile, i, nil)
			if err != nil || f == nil {
				return nil, errors.Join(err, fmt.Errorf("the file %d of the session is not there", i))
			}
			defer f.Close()
			return io.ReadAll(f)
		}
	}
	s.Saved = sync.OnceValues(func() (saved map[string]string, err error) {
		_, err = conn.Call(ctx, callSaved, struct{}{}, &saved)
		return saved, err
	})
	var untold atomic.Pointer[[]string]
	var empty atomic.Bool
	s.Keep = func(names []string) (kept bool) {
		untold.Store(nil)
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(s.Whole, name) }) {
			untold.Store(&names)
			return true
		}
		_, err := conn.Call(ctx, callKeep, names, &kept)
		return err == nil && kept
	}
	s.SaveSmall = func(name string, data []byte) error {
		defer runners.Recycle(data)
		return conn.Note(noteSaved, wire.Parts{[]byte(name + "\n"), data}, nil)
	}
	s.Link = func(from, name string) error {
		_, err := conn.Call(ctx, callLink, link{from, name}, nil)
		return err
	}
	s.Leave = func(dir fs.FS, own runners.File) (runners.Left, error) {
		if len(s.Files) == 0 && onlyOwn(dir, own) {
			empty.Store(true)
			return runners.Left{}, nil
		}
		left(dir)
		defer left(nil)
		var all []runners.SessionFile
		_, err := conn.Call(ctx, callLeave, leaving{own, toldOf(dir)}, &all)
		return runners.Left{All: all}, err
	}
	return func(e *outcome) {
		if names := untold.Load(); names != nil {
			e.Keeps = *names
		}
		e.Empty = empty.Load()
	}
}

// onlyOwn reports whether a directory has nothing besides the program's own file, as it was.
func onlyOwn(dir fs.FS, own runners.File) bool {
	list, err := fs.ReadDir(dir, ".")
	return err == nil && !slices.ContainsFunc(list, func(d fs.DirEntry) bool {
		if d.Name() != own.Path || !d.Type().IsRegular() {
			return !runners.IsCache(d.Name(), d)
		}
		data, err := fs.ReadFile(dir, own.Path)
		return err != nil || !bytes.Equal(data, own.Data)
	})
}

// Bounds of what the server is told of a directory before it asks.
const (
	maxTold      = 200       // entries
	maxToldBytes = 128 << 10 // of files
)

// toldOf returns what the server will ask for of a small directory: each question costs the time in
// which two processes wake up.
func toldOf(dir fs.FS) told {
	t, room := told{Dirs: map[string][]entry{}, Files: map[string][]byte{}}, int64(maxToldBytes)
	var list func(name string, entries int) int
	list = func(name string, entries int) int {
		in, err := fs.ReadDir(dir, name)
		if entries += len(in); err != nil || entries > maxTold {
			return entries
		}
		all := []entry{}
		for _, d := range in {
			i, err := d.Info()
			if err != nil {
				continue
			}
			all = append(all, entryOf(i))
			at := path.Join(name, d.Name())
			switch {
			case runners.IsCache(at, d):
			case d.IsDir():
				entries = list(at, entries)
			case d.Type().IsRegular() && i.Size() <= room:
				if data, err := fs.ReadFile(dir, at); err == nil && int64(len(data)) == i.Size() {
					t.Files[at] = data
					room -= i.Size()
				}
			}
		}
		t.Dirs[name] = all
		return entries
	}
	list(".", 0)
	return t
}

// leftFile answers the server's questions about what a program has left.
func leftFile(dir fs.FS, method uint8, q read) (any, error) {
	switch method {
	case callStat:
		i, err := fs.Lstat(dir, q.Name)
		if err != nil {
			return nil, err
		}
		return entryOf(i), nil
	case callReadDir:
		list, err := fs.ReadDir(dir, q.Name)
		entries := []entry{}
		for _, d := range list {
			if i, err := d.Info(); err == nil {
				entries = append(entries, entryOf(i))
			}
		}
		return entries, err
	case callReadLink:
		return fs.ReadLink(dir, q.Name)
	}
	f, err := dir.Open(q.Name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(q.Length, maxRead))
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: q.Name, Err: fs.ErrInvalid}
	}
	n, err := at.ReadAt(b, q.Offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return wire.Raw(b[:n]), err
}

func entryOf(i fs.FileInfo) entry { return entry{i.Name(), i.Mode(), i.Size(), i.ModTime()} }
