package runners

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Directory is the working directory of a program on the host's disk. The program may
// have put anything there: links that lead anywhere, and named pipes that have no
// other end. It is an [fs.ReadLinkFS] that opens files without waiting.
type Directory struct{ Root *os.Root }

// Open implements [fs.FS].
func (d Directory) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return d.Root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// ReadLink implements [fs.ReadLinkFS].
func (d Directory) ReadLink(name string) (string, error) {
	return d.Root.Readlink(filepath.FromSlash(name))
}

// Lstat implements [fs.ReadLinkFS].
func (d Directory) Lstat(name string) (fs.FileInfo, error) {
	return d.Root.Lstat(filepath.FromSlash(name))
}

// Arrange makes a directory with the files of a session's state, have, one with those
// of another, want.
func (d Directory) Arrange(have, want []SessionFile) error {
	remove, write := Changes(have, want)
	for _, name := range remove {
		if err := d.Root.RemoveAll(filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	for _, f := range write {
		if err := d.put(f); err != nil {
			return fmt.Errorf("write %s of the session: %w", f.Path, err)
		}
	}
	return nil
}

// put writes an entry of a session's directory.
func (d Directory) put(f SessionFile) error {
	name := filepath.FromSlash(f.Path)
	switch f.Mode.Type() {
	case fs.ModeDir:
		if err := d.Root.MkdirAll(name, 0o700); err != nil {
			return err
		}
		return d.Root.Chmod(name, f.Mode.Perm())
	case fs.ModeSymlink:
		if err := d.Root.RemoveAll(name); err != nil {
			return err
		}
		return d.Root.Symlink(f.Target, name)
	}
	data, err := f.Read()
	if err != nil {
		return err
	}
	if err := d.write(name, f.Mode.Perm(), data); err != nil {
		return err
	}
	return d.Root.Chmod(name, f.Mode.Perm()) // whatever the umask is
}

// Write writes files, whose paths are checked, in place of what is there.
func (d Directory) Write(files ...File) error {
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		err := d.write(name, 0o600, f.Data)
		if err == nil && !f.Modified.IsZero() {
			err = d.Root.Chtimes(name, f.Modified, f.Modified)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return nil
}

// write never opens what is there, which may be a pipe that nobody reads.
func (d Directory) write(name string, mode fs.FileMode, data []byte) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := d.Root.OpenFile(name, flags, mode)
	if err != nil { // it is there, or its directory is not
		if err := errors.Join(d.Root.MkdirAll(filepath.Dir(name), 0o700), d.Root.RemoveAll(name)); err != nil {
			return err
		}
		if f, err = d.Root.OpenFile(name, flags, mode); err != nil {
			return err
		}
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// LeftIn returns what a program left in a directory that was given files besides its own
// file: what its session keeps, or without a session what [LeftFiles] returns.
func LeftIn(d fs.FS, s *Session, own File, files []File) (Left, error) {
	if s != nil {
		return s.Leave(d, own)
	}
	var l Left
	l.Changed, l.Omitted = LeftFiles(d, append(slices.Clip(files), own))
	return l, nil
}
