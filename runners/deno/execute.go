package deno

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// killedCode is the exit code of a program that was killed.
const killedCode = 128 + 9

// next is what to do after a process has ended.
type next int

const (
	done  next = iota
	plain      // it could not load the edited program: run the plain one
	again      // the process died before the program began: take another
)

// orders are what the bootstrap is told when there is a program.
type orders struct {
	Main string   `json:"main"` // the program's URL
	Path string   `json:"path"` // and its path
	Args []string `json:"args,omitempty"`
	Argv bool     `json:"argv"` // the program looks at process.argv
	Room int64    `json:"room"` // characters for the result
	Tell bool     `json:"tell"` // say when it is over
	// Say how much memory there is in use at the end: we cannot look.
	Memory bool `json:"memory"`
}

// instance gives the job a Deno that waits for its orders: one that was
// started ahead, unless it must be a fresh one. The error is the context's if
// that ends before.
func (j *job) instance(ctx context.Context) (*instance, error) {
	v := j.variant()
	if len(j.req.Args) > 0 && j.mentions("Worker") {
		v.args = j.req.Args // workers have those that the process was started with
	}
	for !j.fresh && v.args == nil {
		var in *instance
		if in, j.parkKey = j.r.park.take(v); in == nil {
			break
		}
		err := in.await(ctx)
		if err == nil && in.alive() {
			return in, nil
		}
		in.discard()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	in := j.r.launch(ctx, v)
	if err := in.await(ctx); err != nil {
		in.discard()
		return nil, err
	}
	return in, nil
}

// variant is what the job needs to know of its process, but for arguments.
func (j *job) variant() variant {
	return variant{binary: j.binary, memory: j.req.Limits.Memory, ready: j.ready}
}

// mentions reports whether a word is in the program or its files.
func (j *job) mentions(word string) bool {
	return strings.Contains(j.req.Code, word) || slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return bytes.Contains(f.Data, []byte(word))
	})
}

// execute runs the job's program.
func (j *job) execute(ctx context.Context) (*runners.Outcome, next, error) {
	if ctx.Err() != nil {
		return cancelled(), done, nil
	}
	in, err := j.instance(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return cancelled(), done, nil
		}
		return nil, done, err
	}
	if err := in.folder.write(j.main, j.program.Edited(), j.req.Files); err != nil {
		in.discard()
		return nil, done, err
	}
	defer in.leave()
	return j.command(ctx, in)
}

// command gives an instance its orders and awaits the end of the program.
func (j *job) command(ctx context.Context, in *instance) (*runners.Outcome, next, error) {
	p := in.p
	end := &ending{
		limits: j.req.Limits, main: j.main, shown: j.shown, work: in.folder.work(), program: j.program,
		workers: j.mentions("Worker"),
		stdout:  runners.NewCapture(j.req.Limits.Output), stderr: runners.NewCapture(j.req.Limits.Output),
	}
	stopCtx := context.AfterFunc(ctx, func() { p.Kill(process.StopContext) })
	defer stopCtx()
	begun := time.Now()
	timer := time.AfterFunc(j.req.Limits.Timeout, func() { p.Kill(stopTime) })
	defer timer.Stop()

	var readers sync.WaitGroup
	over := make(chan struct{}) // closed when the program says that it is over
	unread := false             // the orders could not be given
	if p.Report != nil {
		readers.Go(func() { end.report = readReport(p.Report, func() { close(over) }) })
	}
	readers.Go(func() { p.Copy(end.stdout, p.Stdout) })
	readers.Go(func() { p.Copy(end.stderr, p.Stderr) })
	readers.Go(func() { unread = !j.order(in) })
	go p.Reap()
	j.r.background.Go(func() { p.Watch(in.folder.path) })

	var usage runners.Usage
	select {
	case <-over:
		// All that it printed is in the pipes.
		usage = in.usage()
		p.Kill(stopDone)
	case <-p.End():
	}
	if p.Stopped() != stopDone {
		<-p.End()
		usage = in.usage()
	}
	p.Collect(&readers)
	if p.Report == nil {
		end.report = readReportFile(in.folder.report())
	}
	if unread && in.key != "" && p.Stopped() == "" {
		return nil, again, nil // it died before it began
	}
	end.stopped = p.Stopped()
	if end.stopped == stopDone {
		end.stopped, end.exitCode = "", end.report.exit.Exit&0xff
	} else {
		end.exitCode, end.signal = p.Exit()
	}
	usage.RunMS = time.Since(begun).Milliseconds()
	usage.PrepareMS = begun.Sub(j.begun).Milliseconds()
	end.peak = usage.PeakMemoryBytes
	o := end.outcome()
	o.Packages = append(o.Packages, j.ready.packages...)
	if done := end.report.done; done != nil {
		usage.PeakMemoryBytes = max(usage.PeakMemoryBytes, done.Memory)
	}
	o.Usage = usage
	return o, j.after(end, o), nil
}

// usage returns what the process has used since it was ready.
func (in *instance) usage() runners.Usage {
	u := in.p.Usage()
	return runners.Usage{
		CPUMS:           max(u.CPU-in.before.CPU, 0).Milliseconds(),
		PeakMemoryBytes: max(u.Peak, in.before.Peak),
	}
}

// order sends the bootstrap its orders, and then the program its stdin, which
// may go on for as long as its reader blocks. It reports whether the orders
// were written.
func (j *job) order(in *instance) bool {
	main := filepath.Join(in.folder.work(), j.main)
	// A process of the program's, or foreign code in it, may write on after
	// the program's end.
	tell := !unconfined(j.r.cfg.Policy)
	o := orders{
		Main: fileURL(main), Path: main, Room: j.req.Limits.Output, Args: j.req.Args,
		Argv: len(j.req.Args) > 0 || strings.Contains(j.req.Code, "argv"),
		Tell: tell, Memory: !tell || runtime.GOOS != "linux",
	}
	// The process may end at any time; what is not written then is not read.
	if err := writeFrame(in.p.Stdin, o); err != nil {
		in.p.Stdin.Close()
		return false
	}
	go func() {
		defer in.p.Stdin.Close()
		j.stdin.copy(in.p.Stdin)
	}()
	return true
}

// after says what to do next. Only a program that could not be loaded may be
// run again: nothing of it has run.
func (j *job) after(end *ending, o *runners.Outcome) next {
	if o.Status == runners.Crashed {
		j.r.codes.drop(j.variant())
		return done
	}
	rec := end.report.thrown
	if o.Status != runners.Failed || rec == nil || rec.Kind != "thrown" || !rec.Load {
		return done
	}
	if j.program.HasEdits() {
		// Whatever Deno does not like about the program, it should say it of
		// the user's own text.
		return plain
	}
	return done
}
