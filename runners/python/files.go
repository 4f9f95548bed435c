package python

import (
	"io/fs"
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
)

// mountAll mounts the program's files and packages. A snapshot with packages and
// a session's interpreter have some already.
func (j *job) mountAll() error {
	begun := time.Now()
	defer func() { j.pk.spent(begun) }()
	if j.snapshot == nil || j.saved != nil {
		for _, m := range j.pk.newMounts() {
			if err := j.in.Mount(m.Dir, m.Tree); err != nil {
				return err
			}
		}
	}
	for _, f := range j.req.Files {
		if err := j.in.WriteFilePerm(f.Path, f.Data, f.Perm()); err != nil {
			return err
		}
		if err := j.in.Chtimes(f.Path, f.Modified); err != nil {
			return err
		}
	}
	if err := j.writeProgram(); err != nil {
		return err
	}
	j.pk.show = func(p resolver.Package) error {
		for _, m := range packageMounts(p) {
			if err := j.in.Mount(m.Dir, m.Tree); err != nil {
				return err
			}
		}
		return nil
	}
	if j.continued != nil {
		return nil // populate has
	}
	return j.host.Mount(j.in)
}

// writeProgram writes the program's file, which pytest, inspect and others read,
// unless the request has a file of that name.
func (j *job) writeProgram() error {
	name := shownName(j.req)
	if slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return f.Path == name || strings.HasPrefix(f.Path, name+"/")
	}) {
		return nil
	}
	if err := j.in.WriteFile(name, []byte(j.req.Code)); err != nil || !j.req.Unlisted || strings.Contains(j.req.Code, "__file__") || strings.Contains(j.req.Code, "def test") {
		return err // what uses a program's own file, such as pytest, may list it
	}
	return j.in.Unlist(name)
}

// leave takes the files that the program left.
func (j *job) leave() error {
	j.missed = j.procs.FS.Misses()
	home, err := fs.Sub(j.in.Files(), pyodide.Home[1:])
	if err != nil {
		return err
	}
	own := runners.File{Path: shownName(j.req), Data: []byte(j.req.Code)}
	if j.continued == nil {
		j.files, j.filesOmitted = runners.LeftFiles(home, append([]runners.File{own}, j.req.Files...))
		return nil
	}
	left, err := j.req.Session.Leave(home, own)
	j.files, j.filesOmitted, j.sessionFiles = left.Changed, left.Omitted, left.All
	return err
}
