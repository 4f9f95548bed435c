package python

import (
	"slices"
	"strings"
	"time"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/site"
)

// mountAll mounts the program's files and packages. A snapshot with packages and
// a session's interpreter have some already.
func (j *job) mountAll() error {
	begun := time.Now()
	defer func() { j.pk.Spent(begun) }()
	if j.snapshot == nil || j.saved != nil {
		for _, m := range j.pk.NewMounts() {
			if err := j.in.Mount(m.Dir, m.Tree); err != nil {
				return err
			}
		}
	}
	if j.continued == nil {
		if err := j.mountProject(); err != nil {
			return err
		}
	}
	for _, f := range j.req.Files { // a parked program has none
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
	j.pk.Show = func(p resolver.Package) error {
		for _, m := range site.Mounts(p) {
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

// mountProject shows the directory that the program sees as its own.
func (j *job) mountProject() error {
	if j.req.Project == nil {
		return nil
	}
	return j.procs.FS.MountCopy(pyodide.Home, j.req.Project)
}

// writeProgram writes the program's file, which pytest, inspect and others read,
// unless the request or the project has such a file.
func (j *job) writeProgram() error {
	name := shownName(j.req)
	if j.parked() && slices.ContainsFunc(j.req.Session.Files, func(f runners.SessionFile) bool { return f.Path == name }) {
		return nil // it has changed it
	}
	if slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return f.Path == name || strings.HasPrefix(f.Path, name+"/")
	}) {
		return nil
	}
	if v := j.req.Project; v != nil && v.Program == name {
		if data, err := v.ReadFile(name, int64(len(j.req.Code))+1); err == nil && string(data) == j.req.Code {
			return nil
		}
	}
	if err := j.in.WriteFile(name, []byte(j.req.Code)); err != nil || !j.unnamed() || strings.Contains(j.req.Code, "__file__") || strings.Contains(j.req.Code, "def test") {
		return err // what uses a program's own file, such as pytest, may list it
	}
	return j.in.Unlist(name)
}

// maxBeside bounds the names that the guest is told of.
const maxBeside = 8

// beside returns the names in the directory of a program that alone has put files there, if these
// are few, or else nil: the guest looks for itself then, which takes longer.
func (j *job) beside() []string {
	policy := j.r.cfg.Policy
	if j.req.Project != nil || policy.Read.Any() || policy.Write.Any() || len(j.req.Files) > maxBeside || j.dir() != "" {
		return nil
	}
	name, _, _ := strings.Cut(shownName(j.req), "/")
	names := []string{name}
	for _, f := range j.req.Files {
		top, _, _ := strings.Cut(f.Path, "/")
		names = append(names, top)
	}
	if j.continued != nil {
		if len(j.req.Session.Files) > maxBeside || j.parked() {
			return nil
		}
		for _, f := range j.req.Session.Files {
			if !strings.Contains(f.Path, "/") {
				names = append(names, f.Path)
			}
		}
	}
	return names
}

// unnamed reports whether nobody gave the program the name of its file, so that it is not
// listed.
func (j *job) unnamed() bool {
	return j.continued != nil && j.req.Session.Unnamed || j.req.Project != nil && j.req.Project.Program == ""
}

// leave takes the files that the program left.
func (j *job) leave() error {
	home, err := j.procs.FS.Changes(pyodide.Home)
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
