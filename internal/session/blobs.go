package session

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coderunner/runners"
)

// temp returns the name of a new file or directory of this call.
func (x *session) temp() string { return filepath.Join(x.path, tempPrefix+rand.Text()) }

// saveDir returns an empty directory for what a runner saves, the same one for all calls: to
// make and remove a directory takes longer than a file.
func (x *session) saveDir() (string, error) {
	dir := filepath.Join(x.path, saveName)
	if list, err := os.ReadDir(dir); err == nil && len(list) == 0 {
		return dir, nil
	}
	return dir, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
}

// put writes what r has into a blob, and returns it.
func (x *session) put(r io.Reader, limit int64) (b blob, err error) {
	name := x.temp()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return b, err
	}
	h := sha256.New()
	b.Size, err = io.Copy(io.MultiWriter(f, h), io.LimitReader(r, limit+1))
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	if err == nil && b.Size > limit {
		err = refuse("A file is larger than %d bytes.", limit)
	}
	x.sync(f, b.Size)
	if err == nil {
		err = x.adopt(name, b.SHA256)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return b, err
}

// adopt makes a file the blob of a name, unless there is one already. A blob that
// is there was checked when its name was given, and is checked when it is read.
func (x *session) adopt(file, name string) error {
	if info, err := os.Lstat(x.blob(name)); err == nil && info.Mode().IsRegular() {
		return os.Remove(file)
	}
	x.pending[name] = true
	return os.Rename(file, x.blob(name))
}

// small is what a runner saved without a file, by its names.
type small map[string][]byte

// save is runners.Session.SaveSmall.
func (s small) save(name string, data []byte) error {
	if int64(len(data)) > s.room() || len(s) >= maxSaved {
		return fmt.Errorf("a runner saved %d bytes under %q, which is too much", len(data), name)
	}
	if 2*len(data) < cap(data) {
		defer runners.Recycle(data)
		data = bytes.Clone(data)
	}
	s[name] = data
	return nil
}

// room returns how many bytes more the state to come may have inline.
func (s small) room() int64 {
	room := int64(runners.MaxSmall)
	for _, data := range s {
		room -= int64(len(data))
	}
	return room
}

// keepInline has the state to come have data inline.
func (x *session) keepInline(data []byte) blob {
	b := blob{runners.SHA256(data), int64(len(data))}
	x.inline[b.SHA256] = data
	return b
}

// takeSaved makes blobs of the files that a runner saved, but for small ones, which the state to
// come has inline. Those that it linked to earlier ones are not read again.
func (x *session) takeSaved(dir string, before map[string]blob) (map[string]blob, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxSaved {
		return nil, fmt.Errorf("a runner saved %d files", len(entries))
	}
	saved, room := map[string]blob{}, x.small.room()
	for _, name := range x.kept {
		saved[name] = before[name]
	}
	for name, data := range x.small {
		saved[name] = x.keepInline(data)
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(fmt.Errorf("a runner saved %s, which is not a regular file", e.Name()), err)
		}
		b, known := before[e.Name()]
		if known {
			was, err := os.Lstat(x.blob(blobName(e.Name(), b.SHA256)))
			known = err == nil && os.SameFile(was, info)
		}
		if !known && e.Name() != runners.SavedBase && info.Size() <= room {
			data, err := os.ReadFile(file)
			if err != nil || int64(len(data)) != info.Size() {
				return nil, errors.Join(fmt.Errorf("a runner saved %s, which changes", e.Name()), err)
			}
			saved[e.Name()], room = x.keepInline(data), room-info.Size()
			if err := os.Remove(file); err != nil {
				return nil, err
			}
			continue
		}
		if !known {
			f, err := os.Open(file)
			if err != nil {
				return nil, err
			}
			x.sync(f, info.Size())
			if b, err = x.digest(file, info); err != nil {
				return nil, err
			}
		}
		if err := x.adopt(file, blobName(e.Name(), b.SHA256)); err != nil {
			return nil, err
		}
		saved[e.Name()] = b
	}
	x.taken = true
	return saved, nil
}

// maxVerified bounds the digests that are remembered, of files of more than maxReread bytes.
const (
	maxVerified = 1024
	maxReread   = 384 << 10
)

func unchanged(was, info fs.FileInfo) bool {
	return os.SameFile(was, info) && was.ModTime().Equal(info.ModTime()) && was.Size() == info.Size()
}

// known reports whether the digest of a blob's file is remembered.
func (s *Store) known(b blob, info fs.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.verified[b.SHA256]
	return ok && unchanged(was, info)
}

// digest returns the digest of a file that nobody changes. That of a large one is
// remembered for that file, by whatever name.
func (s *Store) digest(file string, info fs.FileInfo) (blob, error) {
	s.mu.Lock()
	for sum, was := range s.verified {
		if unchanged(was, info) {
			s.mu.Unlock()
			return blob{sum, info.Size()}, nil
		}
	}
	s.mu.Unlock()
	f, err := openRegular(file)
	if err != nil {
		return blob{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return blob{}, err
	}
	b := blob{hex.EncodeToString(h.Sum(nil)), n}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.verified) >= maxVerified {
		clear(s.verified)
	}
	if n > maxReread {
		s.verified[b.SHA256] = info
	}
	return b, nil
}

// saved returns the paths of what a runner saved, checked.
func (x *session) saved(l language) (map[string]string, error) {
	out := map[string]string{}
	for name := range l.Saved {
		file, err := x.savedFile(l, name)
		if err != nil {
			return nil, err
		}
		out[name] = file
	}
	return out, nil
}

// keepSaved has the state to come have what was saved under names, if that is whole. It
// reports whether it is.
func (x *session) keepSaved(l language, names []string) bool {
	for _, name := range names {
		if !x.isWhole(l, name) {
			return false
		}
	}
	x.kept = names
	return true
}

// whole returns the names of what a runner saved that is known to be whole without reading much.
func (x *session) whole(l language) (names []string) {
	const much = 4 << 10 // bytes
	for name, b := range l.Saved {
		if _, inline := x.now.inline[b.SHA256]; !inline && b.Size > much {
			if info, err := os.Lstat(x.blob(blobName(name, b.SHA256))); err != nil || !x.known(b, info) {
				continue
			}
		}
		if x.isWhole(l, name) {
			names = append(names, name)
		}
	}
	return names
}

// isWhole reports whether what a runner saved under a name is there and whole.
func (x *session) isWhole(l language, name string) bool {
	if _, ok := x.now.inline[l.Saved[name].SHA256]; ok {
		return true // its digest is compared when the state is read
	}
	_, err := x.savedFile(l, name)
	return err == nil
}

// savedFile returns the path of what a runner saved under a name, checked.
func (x *session) savedFile(l language, name string) (string, error) {
	b, ok := l.Saved[name]
	if !ok {
		return "", fs.ErrNotExist
	}
	file := x.blob(blobName(name, b.SHA256))
	info, err := os.Lstat(file)
	if data, ok := x.now.inline[b.SHA256]; ok && errors.Is(err, fs.ErrNotExist) {
		temp := x.temp()
		if err = errors.Join(os.WriteFile(temp, data, 0o400), os.Rename(temp, file)); err == nil {
			info, err = os.Lstat(file)
		}
	}
	if err != nil {
		return "", err
	}
	if is, err := x.digest(file, info); err != nil || is != b {
		return "", errors.Join(errors.New("what was saved is damaged on disk"), err)
	}
	return file, nil
}

// link makes the blobs of a state those of another session, too.
func (x *session) link(to *session, s *state) error {
	for name := range s.blobs() {
		err := os.Link(x.blob(name), to.blob(name))
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// size returns how many bytes the session's own blobs have, and what its states have inline.
func (x *session) size() (total int64) {
	const manifest = 4 << 10 // bytes, which do not count
	for dir, free := range map[string]int64{blobsName: 0, statesName: manifest} {
		entries, _ := os.ReadDir(filepath.Join(x.path, dir)) // what cannot be listed is counted as nothing
		for _, e := range entries {
			if info, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), sharedPrefix) {
				total += max(0, info.Size()-free)
			}
		}
	}
	return total
}

// discard removes the blobs that have got no state.
func (x *session) discard() {
	for name := range x.pending {
		_ = os.Remove(x.blob(name)) // the history's end takes it, too
	}
}
