package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"coderunner/internal/procdir"
	"coderunner/internal/process"
	"coderunner/internal/project"
	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// Run implements [runners.Runner].
func (r *Runner) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	if len(req.Packages) > 0 {
		failed := &runners.NotInstalledError{}
		for _, p := range req.Packages {
			failed.Add(p, errPackages.Error())
		}
		return failed.Outcome(), nil
	}
	if ctx.Err() != nil {
		return runners.CancelledOutcome(), nil
	}
	req.Limits = req.Limits.WithDefaults()
	begun := time.Now()
	dir, err := os.MkdirTemp(r.dirs.Path(), "r")
	if err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	defer func() { _ = procdir.RemoveAll(dir) }() // the runner's Close tries again
	own := runners.File{Path: mainFile(req, r.ending), Data: []byte(req.Code)}
	work := filepath.Join(dir, "work")
	layout := project.NewLayout(req.Project)
	placed, err := fill(work, layout, req, own)
	if err != nil {
		return nil, err
	}
	command := r.command(dir, work, own.Path, req)
	command.Spec.Read = append(command.Spec.Read, layout.Grants()...)
	p, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	end := &ending{limits: req.Limits}
	end.usage.PrepareMS = time.Since(begun).Milliseconds()
	r.attend(ctx, p, req, dir, end)
	if err := end.take(work, placed, req, own); err != nil {
		return nil, err
	}
	return end.outcome(), nil
}

// mainFile returns the name of the program's file.
func mainFile(req runners.Request, ending string) string {
	if v := req.Project; v != nil && v.Program != "" {
		return v.Program
	}
	if req.Filename != "" && filepath.Base(req.Filename) == req.Filename {
		return req.Filename
	}
	return "main" + ending
}

// fill makes the working directory: what the session has, the request's files, the program
// and the project.
func fill(work string, layout *project.Layout, req runners.Request, own runners.File) (project.Placed, error) {
	for _, dir := range []string{work, filepath.Join(filepath.Dir(work), "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the working directory: %w", err)
		}
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	defer root.Close()
	d := runners.Directory{Root: root}
	if s := req.Session; s != nil {
		if err := d.Arrange(nil, s.Files); err != nil {
			return nil, err
		}
	}
	if err := d.Write(append(slices.Clip(req.Files), own)...); err != nil {
		return nil, err
	}
	return layout.Place(root)
}

// command returns the confined process of a program.
func (r *Runner) command(dir, work, main string, req runners.Request) process.Command {
	args := append(append(append([]string{}, r.args...), main), req.Args...)
	return process.Command{
		Path: r.binary, Args: args, Dir: work,
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + work, "PWD=" + work, "TMPDIR=" + filepath.Join(dir, "tmp"),
			"LANG=C.UTF-8", "USER=user", "LOGNAME=user",
		},
		Spec:   &sandbox.Spec{Execute: []string{r.binary}, Read: libraries(r.binary), Write: []string{dir}},
		Merged: req.Stdout != nil && req.Stdout == req.Stderr,
		Group:  true,
	}
}

// attend limits, feeds, watches and reaps the process.
func (r *Runner) attend(ctx context.Context, p *process.Process, req runners.Request, dir string, end *ending) {
	begun := time.Now()
	_, end.unlimited = p.Limit(req.Limits.Memory)
	if end.unlimited != nil && !errors.Is(end.unlimited, process.ErrEnded) {
		p.Kill(stopUnlimited)
	}
	defer p.LimitTime(ctx, req.Limits.Timeout)()
	req.Progress.Report(runners.Progress{Phase: "run"})

	end.stdout, end.stderr = req.Captures()
	if req.Stdout != nil && req.Stdout == req.Stderr {
		end.stdout = end.stderr
	}
	var readers sync.WaitGroup
	readers.Go(func() { p.Copy(end.stdout, p.Stdout) })
	readers.Go(func() { p.Copy(end.stderr, p.Stderr) })
	go func() { // a Read of the request's input may block for ever
		defer p.Stdin.Close()
		if req.Stdin != nil {
			_, _ = io.Copy(p.Stdin, req.Stdin) // the program may not read it
		}
	}()
	watching, stopWatch := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { p.Watch(watching, dir) })
	p.Wait(&readers)
	stopWatch()
	watch.Wait()

	used := p.Usage()
	end.stopped, end.filled = p.Stopped(), p.Filled()
	end.code, end.signal = p.Exit()
	end.usage.RunMS, end.usage.CPUMS, end.usage.PeakMemoryBytes = time.Since(begun).Milliseconds(), used.CPU.Milliseconds(), used.Peak
}

// take takes the files that the program left.
func (e *ending) take(work string, placed project.Placed, req runners.Request, own runners.File) error {
	root, err := os.OpenRoot(work)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the program has removed it
	}
	if err != nil {
		return fmt.Errorf("read the working directory: %w", err)
	}
	defer root.Close()
	left, err := runners.LeftIn(placed.Changed(runners.Directory{Root: root}), req.Session, own, req.Files)
	e.files, e.filesOmitted = left.Changed, left.Omitted
	return err
}
