package session

import (
	"errors"
	"io/fs"
	"slices"

	"coderunner/runners"
)

// collection takes the files that a program left.
type collection struct {
	session *session
	given   []runners.File // that the request brought
	before  []runners.SessionFile
	done    bool
	files   []runners.SessionFile
	problem error // an *Error: why the files cannot be kept
	bytes   int64
	known   map[string]runners.SessionFile // before the program
	changed int64                          // bytes of data in left.Changed
	left    runners.Left
}

// leave is runners.Session.Leave.
func (c *collection) leave(dir fs.FS, own runners.File) (runners.Left, error) {
	c.done, c.known = true, map[string]runners.SessionFile{}
	for _, f := range c.before {
		c.known[f.Path] = f
	}
	walked := 0
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		walked++
		switch {
		case name == "." || d == nil:
			return nil // a directory that is gone is an empty one
		case err != nil:
			return nil // what cannot be listed is kept as an empty directory
		case walked > 2*maxFiles || len(c.files) >= maxFiles:
			c.problem = refuse("The session has more than %d files: delete some.", maxFiles)
			return fs.SkipAll
		case runners.IsCache(name, d) || !runners.ValidPath(name):
			if !runners.IsCache(name, d) {
				c.left.Omitted++ // its name is too long, or not text
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return c.take(dir, name, d, own)
	})
	c.left.All = c.files
	return c.left, err
}

// take takes one entry.
func (c *collection) take(dir fs.FS, name string, d fs.DirEntry, own runners.File) error {
	info, err := d.Info()
	if err != nil {
		return nil // it is gone
	}
	f := runners.SessionFile{Path: name, Mode: info.Mode() & (fs.ModeType | fs.ModePerm)}
	switch {
	case d.IsDir():
		f.Mode |= 0o700
	case f.Mode&fs.ModeSymlink != 0:
		f.Mode = fs.ModeSymlink | fs.ModePerm
		if f.Target, err = fs.ReadLink(dir, name); err != nil || !inside(name, f.Target) {
			c.left.Changed = append(c.left.Changed, runners.NewLeftFile(name, d, nil))
			return nil
		}
	case f.Mode.IsRegular():
		if err := c.contents(dir, d, &f, own); err != nil || f.SHA256 == "" {
			return err
		}
	default:
		c.left.Changed = append(c.left.Changed, runners.NewLeftFile(name, d, nil))
		return nil
	}
	c.files = append(c.files, f)
	return nil
}

// maxChanged bounds the contents that an outcome has, in bytes.
const maxChanged = 32 << 20

// contents makes a blob of a regular file. Its SHA256 stays empty if the file is
// not kept.
func (c *collection) contents(dir fs.FS, d fs.DirEntry, f *runners.SessionFile, own runners.File) error {
	file, err := dir.Open(f.Path)
	if err != nil {
		return nil // it is gone
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	known := c.known[f.Path]
	b := blob{known.SHA256, known.Size}
	if f.Path == own.Path && info.Size() == int64(len(own.Data)) && same(dir, f.Path, info.Size(), runners.SHA256(own.Data)) {
		return nil
	}
	if known.SHA256 == "" || known.Size != info.Size() || !same(dir, f.Path, known.Size, known.SHA256) {
		b, err = c.session.put(file, c.session.limits.Size-c.bytes)
	}
	var limit *Error
	switch {
	case errors.As(err, &limit):
		c.problem = refuse("The session's files would take more than %d MiB (CODE_RUNNER_SESSION_SIZE on the server): delete some.", c.session.limits.Size>>20)
		return fs.SkipAll
	case err != nil:
		return err
	}
	f.SHA256, f.Size, f.Mode = b.SHA256, b.Size, f.Mode|0o600
	f.Source = c.session.blob(b.SHA256)
	c.bytes += b.Size
	given := func(g runners.File) bool { return g.Path == f.Path && runners.SHA256(g.Data) == b.SHA256 }
	if known.SHA256 == b.SHA256 || slices.ContainsFunc(c.given, given) { // whoever sent it knows it
		return nil
	}
	var data []byte
	if c.changed += b.Size; c.changed <= maxChanged {
		if data, err = f.Read(); err != nil {
			return err
		}
	}
	left := runners.NewLeftFile(f.Path, d, data)
	left.Size, left.SHA256 = b.Size, b.SHA256
	c.left.Changed = append(c.left.Changed, left)
	return nil
}

// same reports whether a file has the contents with a digest.
func same(dir fs.FS, name string, size int64, sha256sum string) bool {
	sum, n, err := runners.FileSHA256(dir, name, size+1)
	return err == nil && n == size && sum == sha256sum
}
