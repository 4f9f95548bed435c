package session

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"coderunner/runners"
)

// Files returns what is in a session's directory, without the contents.
func (s *Store) Files(ctx context.Context, name string) (files []runners.SessionFile, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		files = slices.Clone(x.now.Files)
		return nil
	})
	return files, err
}

// ReadFile returns the contents of a file.
func (s *Store) ReadFile(ctx context.Context, name, file string) (data []byte, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		data, err = x.read(file)
		return err
	})
	return data, err
}

func (x *session) read(file string) ([]byte, error) {
	f, ok := x.now.file(runners.CleanPath(file))
	switch {
	case !ok:
		return nil, refuse("The session %q has no file %q; list_files lists them.", x.name, runners.Clip(file, 200))
	case f.Mode.IsDir():
		return nil, refuse("%q is a directory; list_files lists what is in it.", f.Path)
	case f.Mode&fs.ModeSymlink != 0:
		return nil, refuse("%q is a link to %q: read that.", f.Path, f.Target)
	}
	return f.Read()
}

// WriteFile makes or replaces a file, and makes the directories above it. The
// session is made if there is none.
func (s *Store) WriteFile(ctx context.Context, name, file string, data []byte) error {
	return s.locked(ctx, name, true, func(x *session) error { return x.undone(x.write("write_file", file, data)) })
}

// EditFile replaces a text in a file, which has it once, or several times if all.
// It returns how often it was replaced.
func (s *Store) EditFile(ctx context.Context, name, file, old, new string, all bool) (n int, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		data, err := x.read(file)
		if err != nil {
			return err
		}
		switch n = bytes.Count(data, []byte(old)); {
		case old == "":
			return refuse(`"old_text" must not be empty; write_file makes a file.`)
		case n == 0:
			return refuse("%q does not have this text: it must be equal to the letter, with its spaces and line ends. read_file shows the file.", file)
		case n > 1 && !all:
			return refuse("%q has this text %d times: give more of what is around it, or set replace_all.", file, n)
		}
		return x.write("edit_file", file, bytes.ReplaceAll(data, []byte(old), []byte(new)))
	})
	return n, err
}

// DeleteFile removes a file, a link, or a directory with all that is in it. It
// returns how many entries that were.
func (s *Store) DeleteFile(ctx context.Context, name, file string) (n int, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		file := runners.CleanPath(file)
		next := x.now.clone()
		next.Files = slices.DeleteFunc(next.Files, func(f runners.SessionFile) bool {
			return f.Path == file || strings.HasPrefix(f.Path, file+"/")
		})
		if n = len(x.now.Files) - len(next.Files); n == 0 {
			return refuse("The session %q has no file %q; list_files lists them.", x.name, runners.Clip(file, 200))
		}
		next.Action = "delete_file " + file
		return x.commit(next)
	})
	return n, err
}

// write makes a state with a file.
func (x *session) write(action, file string, data []byte) error {
	file = runners.CleanPath(file)
	if err := x.now.free(file); err != nil {
		return err
	}
	b, err := x.put(bytes.NewReader(data), x.limits.Size)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	next := x.now.clone()
	next.Action = action + " " + file
	f := runners.SessionFile{Path: file, Mode: 0o644, Size: b.Size, SHA256: b.SHA256, Source: x.blob(b.SHA256)}
	if i := slices.IndexFunc(next.Files, func(f runners.SessionFile) bool { return f.Path == file }); i >= 0 {
		f.Mode = next.Files[i].Mode
		next.Files[i] = f
		return x.commit(next)
	}
	parents := 0
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, ok := next.file(dir); !ok {
			next.Files = slices.Insert(next.Files, len(next.Files)-parents, runners.SessionFile{Path: dir, Mode: fs.ModeDir | 0o755})
			parents++
		}
	}
	next.Files = append(next.Files, f)
	return x.commit(next)
}

// free refuses a path at which no file can be written.
func (s *state) free(file string) error {
	if !runners.ValidPath(file) {
		return refuse("%q must be a relative path in the session's directory, with \"/\" between its parts and without \"..\".", runners.Clip(file, 200))
	}
	if f, ok := s.file(file); ok && !f.Mode.IsRegular() {
		return refuse("%q is a directory or a link in the session: delete it first.", file)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if f, ok := s.file(dir); ok && !f.Mode.IsDir() {
			return refuse("%q is not a directory in the session, so it cannot contain %q.", dir, path.Base(file))
		}
	}
	return nil
}
