package deno

import (
	"context"
	"maps"
	"sync"
	"time"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
)

// attend sends an instance its orders and waits for the end of the program, which it
// kills at its time limit (what is left of Request.Limits.Timeout) or another one. It
// returns nil if the process died idle, before it had read them.
func (j *job) attend(ctx context.Context, in *process.Instance, load bool) *ending.Ending {
	p := in.Process
	if j.net != nil {
		j.net.Intercept = in.Interceptor
	}
	in.Guard.SetRun(j.net)
	end := j.newEnding(in)
	j.drip = nil
	if _, ok := j.req.Stdin.(runners.Peeker); ok && !load && !in.Variant.Session && p.Stdin.Narrow() == nil {
		j.drip = &drip{s: &j.stdin, p: p}
	}
	stopCalls := j.offerTools(ctx, in, load)
	defer stopCalls()
	p.Settle(end.Workers, in.Variant.Session)
	begun := time.Now()
	defer context.AfterFunc(ctx, func() { p.Kill(osprocess.StopContext) })()
	clock := runners.StartClock(j.left, func() { p.Kill(osprocess.StopTime) })
	defer clock.Stop()
	if !load {
		defer j.req.Signals.Pass(p.Signal)()
	}
	j.clock.Store(clock)
	if in.Variant.Early != nil {
		p.Release()
	}

	j.req.Progress.Report(runners.Progress{Phase: "run"})
	var readers sync.WaitGroup
	over := make(chan struct{}) // closed when the program reports that it is over
	unread := false             // the orders could not be written
	tell := func() { close(over) }
	if (end.Free || load) && !in.Variant.Session {
		// A child process, or native code, may write after the program's end.
		tell = nil
	}
	if p.Report != nil {
		readers.Go(func() { end.Report = ending.ReadReport(p.Report, end.Limits.Output, j.nonce, tell, j.calls.take) })
	}
	readers.Go(func() { p.Copy(end.Stdout, p.Stdout) })
	readers.Go(func() { p.Copy(end.Stderr, p.Stderr) })
	readers.Go(func() { unread = !j.order(in, load) })
	if !j.again {
		go p.Reap()
	}
	stopWatch, watched := j.watch(in)
	defer stopWatch()
	await(end, in, over, func() {
		stopCalls()
		p.Pause(&readers)
		stopWatch()
		<-watched // it knows the limits of this program
	})
	stopCalls() // the report is read to its end then
	if j.drip != nil {
		j.req.Stdin.(runners.Peeker).Consumed(j.drip.consumed())
	}
	if !end.Paused {
		in.Orders.Close() // a nil file returns an error, ignored
		p.Collect(&readers)
	}
	if p.Report == nil {
		end.Report = ending.ReadReportFile(in.Dir.Report(), end.Limits.Output)
	}
	if unread && in.Key != "" && p.Stopped() == "" {
		return nil
	}
	end.Conclude(p)
	j.left = clock.Stop()
	end.Used.RunMS = time.Since(begun).Milliseconds()
	end.Used.PrepareMS = begun.Sub(j.begun).Milliseconds()
	return end
}

// watch enforces the limits of an instance's process until stop is called. Watched is
// closed when that has ended.
func (j *job) watch(in *process.Instance) (stop context.CancelFunc, watched <-chan struct{}) {
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	j.leases.Background.Go(func() {
		defer close(over)
		in.Process.Watch(ctx, in.Dir.Path)
	})
	return stop, over
}

// await waits until the program reports that it is over, or its process ends. Then the
// process is paused if it is kept, else killed.
func await(end *ending.Ending, in *process.Instance, over <-chan struct{}, pause func()) {
	p := in.Process
	select {
	case <-over:
		// All of its output is in the pipes.
		in.Guard.Settle()
		end.Used = in.Usage()
		if in.Variant.Session {
			pause()
			end.Paused = p.Stopped() == ""
		} else {
			p.Kill(ending.Done)
		}
	case <-p.End():
	}
	if p.Stopped() != ending.Done && !end.Paused {
		<-p.End()
		end.Used = in.Usage()
	}
}

// newEnding returns the ending of a program that an instance will run.
func (j *job) newEnding(in *process.Instance) *ending.Ending {
	uses := j.ready.Uses.Workers
	end := &ending.Ending{
		Limits: j.req.Limits, Shown: j.Shown, Program: j.Program, Stacks: j.newStacks(in),
		Workers: uses || j.Workers() || in.Workers, Threads: uses || j.Imports("worker_threads"), Free: process.Unconfined(j.leases.Config.Policy),
	}
	end.Capture(j.req, in.Variant.Merged)
	return end
}

// newStacks returns what the places in the stacks of a job's program are.
func (j *job) newStacks(in *process.Instance) *stacktrace.Map {
	l := &stacktrace.Map{
		Work: in.Dir.Work(), URL: process.FileURL(in.Dir.Work()), Cache: j.leases.Config.Cache.Root(), Main: j.script, Scripts: map[string]stacktrace.Script{},
	}
	maps.Copy(l.Scripts, j.scripts)
	l.Scripts[j.script] = stacktrace.NewScript(j.Shown, j.Program)
	return l
}
