package deno

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/program"
)

// Where the process of a session has ended, or lacks a package, another one runs the earlier
// programs again, each on the files that it had: those that it finds there are mostly what
// the programs before it have just written, and stay, since the variables may have them
// open. The contents of others are only known if the session still has them.

// replay runs an earlier program again, on the files that it had, in what is left of the
// time for all of them. It returns why the variables cannot be trusted, "" if they can.
func (s *continuing) replay(ctx context.Context, n int, left *time.Duration) (why string, err error) {
	e := s.earlier[n]
	if why, err = s.restore(e.Files); why != "" || err != nil {
		return why, err
	}
	again, err := s.earlierJob(e)
	if err != nil {
		return "", s.drop(err)
	}
	again.left = *left
	end, err := s.call(ctx, s.k, again)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", s.drop(err)
	}
	*left = again.left
	o := end.Outcome()
	switch {
	case end.Stopped == osprocess.StopTime:
		return fmt.Sprintf("did not end: together they may take %v", s.Runner.replayLimit), nil
	case !end.Paused && o.Error != nil:
		return "ended its process: " + o.Error.Message, nil
	case !end.Paused:
		return "ended its process", nil
	case o.Status != runners.Succeeded && !e.Failed:
		return "failed: " + deps.Shorten(o.Error.Message, 200), nil
	case !slices.Equal(end.Report.Names(), e.Names):
		return "did not declare the same variables", nil
	}
	return "", nil
}

// earlierJob returns the job of an earlier program.
func (s *continuing) earlierJob(e earlier) (*job, error) {
	req := e.request(s.req)
	a, err := program.Analyze(req, s.Runner.Config.Policy)
	return &job{Analysis: a, net: s.net, leases: s.Runner.leases, req: req, binary: s.binary, ready: s.ready, begun: s.begun, stdin: stdin{r: req.Stdin}}, err
}

// given returns the files that the program finds, without their contents.
func (s *continuing) given() []runners.SessionFile {
	all := []runners.SessionFile{}
	for _, f := range s.req.Session.Files {
		if !slices.ContainsFunc(s.Files, func(g runners.File) bool { return g.Path == f.Path }) {
			all = append(all, f)
		}
	}
	for _, f := range s.Files {
		all = append(all, runners.SessionFile{Path: f.Path, Mode: 0o600, Size: int64(len(f.Data)), SHA256: runners.SHA256(f.Data)})
	}
	return all
}

// restore makes the working directory have an earlier program's files. It returns why it
// cannot, "" if it has.
func (s *continuing) restore(want []runners.SessionFile) (why string, err error) {
	if want == nil {
		want = s.req.Session.Files
	}
	have, err := s.k.present()
	if err != nil {
		return "", s.drop(err)
	}
	_, write := runners.Changes(have, want)
	want = slices.Clone(want)
	for _, f := range write {
		if f.SHA256 == "" {
			continue
		}
		same := func(g runners.SessionFile) bool { return g.SHA256 == f.SHA256 && g.Source != "" }
		source := slices.IndexFunc(s.req.Session.Files, same)
		if source < 0 {
			return fmt.Sprintf("had another %s", f.Path), nil
		}
		at := slices.IndexFunc(want, func(g runners.SessionFile) bool { return g.Path == f.Path })
		want[at].Source = s.req.Session.Files[source].Source
	}
	s.k.files = have
	if err := s.k.arrangeFiles(want, nil); err != nil {
		return "", s.drop(err)
	}
	return "", nil
}

// present returns what the working directory of the stopped process has, as a session keeps
// it.
func (k *kept) present() (all []runners.SessionFile, err error) {
	root := k.Dir.Open()
	if root == nil {
		return nil, process.ErrReplaced
	}
	defer root.Close()
	dir := k.Dir.Placed.Changed(runners.Directory{Root: root})
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := runners.SessionFile{Path: name, Mode: info.Mode() & (fs.ModeType | fs.ModePerm)}
		switch {
		case d.IsDir():
			f.Mode |= 0o700
		case f.Mode&fs.ModeSymlink != 0:
			f.Mode = fs.ModeSymlink | fs.ModePerm
			f.Target, err = fs.ReadLink(dir, name)
		case f.Mode.IsRegular():
			f.Mode |= 0o600
			f.SHA256, f.Size, err = runners.FileSHA256(dir, name, math.MaxInt64)
		}
		all = append(all, f)
		return err
	})
	return all, err
}
