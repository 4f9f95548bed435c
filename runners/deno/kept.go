package deno

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"coderunner/internal/pool"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// maxKept bounds the processes kept for sessions. An idle one is stopped, and ends
// after idleLimit.
const maxKept = 8

// stopIdle is why an idle process is killed.
const stopIdle process.Stop = "not used"

// kept is the process of a session, and what it has run.
type kept struct {
	*instance
	key     string         // Session.Key
	calls   int            // programs that it has run
	scripts map[string]int // how often a program had a name
	state   string         // Session.After of the last program
	earlier []earlier
	unsaved string // why these cannot be run again, "" if they can
	files   []runners.SessionFile
	release func() // its hold on the cache
}

// newSessions returns where the processes of sessions wait for their next program, by
// the session's key.
func newSessions() *pool.Pool[string, *kept] {
	return pool.New(pool.Options[string, *kept]{
		New:     func(context.Context, string) (*kept, error) { return nil, nil },
		Reset:   func(k *kept) (*kept, error) { return k, nil },
		Close:   (*kept).close,
		MaxUsed: maxKept, MaxIdleTime: idleLimit,
	})
}

// close ends the process, which is paused or has ended, in the background.
func (k *kept) close() {
	k.background.Go(func() {
		k.p.Kill(stopIdle)
		<-k.p.End()
		k.p.Collect(new(sync.WaitGroup))
		k.clear()
		k.release()
	})
}

// arrangeFiles makes the working directory of the stopped process have the session's
// files, and then the request's. The directory is the program's: it may have links
// anywhere.
func (k *kept) arrangeFiles(want []runners.SessionFile, more []runners.File) error {
	root := k.dir.open()
	if root == nil {
		return errReplaced
	}
	defer root.Close()
	remove, write := runners.Changes(k.files, want)
	for _, name := range remove {
		if err := root.RemoveAll(filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for _, f := range write {
		if err := arrangeFile(root, f); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	for _, f := range more {
		if err := writeNew(root, f.Path, 0o600, func(w io.Writer) error { _, err := w.Write(f.Data); return err }); err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	k.files = want
	return nil
}

func arrangeFile(root *os.Root, f runners.SessionFile) error {
	name := filepath.FromSlash(f.Path)
	switch {
	case f.Mode.IsDir():
		if err := root.MkdirAll(name, 0o700); err != nil {
			return err
		}
		return root.Chmod(name, f.Mode.Perm())
	case f.Mode&fs.ModeSymlink != 0:
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		return root.Symlink(f.Target, name)
	}
	from, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer from.Close()
	return writeNew(root, f.Path, f.Mode.Perm(), func(w io.Writer) error { _, err := io.Copy(w, from); return err })
}

// writeNew writes a file in place of what is there, which may be a pipe that nobody
// reads.
func writeNew(root *os.Root, name string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return err
	}
	name = filepath.FromSlash(name)
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
