package deno

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
)

// attend sends an instance its orders and waits for the end of the program, which it
// kills at its time limit (what is left of Request.Limits.Timeout) or another one. It
// returns nil if the process died idle, before it had read them.
func (j *job) attend(ctx context.Context, in *process.Instance, load bool) *ending {
	p := in.Process
	in.Guard.SetRun(j.net)
	end := j.newEnding(in)
	j.drip = nil
	if _, ok := j.req.Stdin.(runners.Peeker); ok && !load && !in.Variant.Session && p.Stdin.Narrow() == nil {
		j.drip = &drip{s: &j.stdin, p: p}
	}
	p.Settle(end.workers, in.Variant.Session)
	begun := time.Now()
	defer context.AfterFunc(ctx, func() { p.Kill(osprocess.StopContext) })()
	clock := runners.StartClock(j.left, func() { p.Kill(osprocess.StopTime) })
	defer clock.Stop()
	if !load {
		defer j.req.Signals.Pass(p.Signal)()
	}
	j.clock.Store(clock)

	j.req.Progress.Report(runners.Progress{Phase: "run"})
	var readers sync.WaitGroup
	over := make(chan struct{}) // closed when the program reports that it is over
	unread := false             // the orders could not be written
	tell := func() { close(over) }
	if (end.free || load) && !in.Variant.Session {
		// A child process, or native code, may write after the program's end.
		tell = nil
	}
	if p.Report != nil {
		readers.Go(func() { end.report = readReport(p.Report, end.limits.Output, j.nonce, tell) })
	}
	readers.Go(func() { p.Copy(end.stdout, p.Stdout) })
	readers.Go(func() { p.Copy(end.stderr, p.Stderr) })
	readers.Go(func() { unread = !j.order(in, load) })
	if !j.again {
		go p.Reap()
	}
	stopWatch, watched := j.watch(in)
	defer stopWatch()
	end.await(in, over, func() {
		p.Pause(&readers)
		stopWatch()
		<-watched // it knows the limits of this program
	})
	if j.drip != nil {
		j.req.Stdin.(runners.Peeker).Consumed(j.drip.consumed())
	}
	if !end.paused {
		in.Orders.Close() // a nil file returns an error, ignored
		p.Collect(&readers)
	}
	if p.Report == nil {
		end.report = readReportFile(in.Dir.Report(), end.limits.Output)
	}
	if unread && in.Key != "" && p.Stopped() == "" {
		return nil
	}
	end.conclude(p)
	j.left = clock.Stop()
	end.used.RunMS = time.Since(begun).Milliseconds()
	end.used.PrepareMS = begun.Sub(j.begun).Milliseconds()
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
func (end *ending) await(in *process.Instance, over <-chan struct{}, pause func()) {
	p := in.Process
	select {
	case <-over:
		// All of its output is in the pipes.
		in.Guard.Settle()
		end.used = in.Usage()
		if in.Variant.Session {
			pause()
			end.paused = p.Stopped() == ""
		} else {
			p.Kill(stopDone)
		}
	case <-p.End():
	}
	if p.Stopped() != stopDone && !end.paused {
		<-p.End()
		end.used = in.Usage()
	}
}

// newEnding returns the ending of a program that an instance will run.
func (j *job) newEnding(in *process.Instance) *ending {
	end := &ending{
		limits: j.req.Limits, shown: j.shown, program: j.program, stacks: j.newStacks(in),
		workers: j.workers() || in.Workers, threads: j.ready.Uses.Workers || j.imports("worker_threads"), free: process.Unconfined(j.leases.Config.Policy),
	}
	req := j.req
	if req.Stdout != nil {
		req.Stdout = end.placed(req.Stdout)
	}
	if req.Stderr != nil {
		end.held.w, req.Stderr = end.placed(req.Stderr), &end.held
	}
	end.stdout, end.stderr = req.Captures()
	if in.Variant.Merged {
		end.stdout = end.stderr // where the end of a failed program is explained
	}
	return end
}

// placed returns what passes on to w what the program prints.
func (e *ending) placed(w io.Writer) io.Writer {
	p := e.stacks.NewWriter(w)
	e.live = append(e.live, p)
	return p
}

// release passes on the rest of what the program has printed, as the outcome has it.
func (e *ending) release(o *runners.Outcome) {
	e.held.release(o.Stderr, func(text string) string { return e.stacks.Show(e.withoutWorkers(text)) })
	for _, p := range e.live {
		p.End()
	}
}

// conclude records how the process ended or was paused.
func (e *ending) conclude(p *osprocess.Process) {
	e.stopped, e.filled = p.Stopped(), p.Filled()
	switch {
	case e.paused && e.report.exit == nil:
		e.exitCode = 1 // the report is broken
	case e.paused:
		e.exitCode = *e.report.exit
	case e.stopped == stopDone:
		e.stopped, e.exitCode = "", *e.report.exit
	default:
		e.exitCode, e.signal = p.Exit()
	}
}

// leftOpen is the hint for a program that has ended, but not its call.
const leftOpen = "The program had reached its end, but something that it began was still open, such as a timer, a server or a connection, and a call lasts until that ends: end it in the call (clearInterval, await db.destroy(), server.close()), or unref() it."

var (
	// tested matches what registers tests, which run after the program's end.
	tested = regexp.MustCompile(`\b(?:describe|it|test)(?:\.\w+)*\(`)

	// overItems matches a loop over what there is.
	overItems = regexp.MustCompile(`^for\s*(?:await\s*)?\([^;()]*\s(?:of|in)\s`)
)

// maxLoops is how many loops are named.
const maxLoops = 3

// overtime returns what a program did that reached its time limit, as far as that is seen
// from outside, after a newline, or "".
func (e *ending) overtime() string {
	limit, used := e.limits.Timeout.Milliseconds(), e.used.CPUMS
	switch {
	case e.report.served:
		return "\n" + onlyItself
	case (e.report.result != nil || len(e.report.names) > 0) && !tested.MatchString(e.program.Source): // these come at its end
		return "\n" + leftOpen
	case 8*used >= limit: // others may want the processors, too
		return fmt.Sprintf("\nIt was computing (%.1f s of processor time), %s", float64(used)/1000, e.loops())
	case 20*used < limit:
		return "\nIt was waiting nearly all of that time, as for a timer, or for an answer that did not come."
	}
	return ""
}

// loops returns where a program may compute without an end.
func (e *ending) loops() string {
	source, lines := e.program.Source, []int(nil)
	rows := strings.Split(source, "\n")
	for _, keyword := range []string{"for", "while"} {
		uses, _ := jsparse.Uses(source, keyword)
		for _, u := range uses {
			if row := rows[min(u.Line, len(rows))-1]; !overItems.MatchString(row[min(u.Column-1, len(row)):]) {
				lines = append(lines, u.Line)
			}
		}
	}
	slices.Sort(lines)
	switch lines = slices.Compact(lines); {
	case len(lines) == 0 || len(lines) > maxLoops:
		return "as in a loop without an end."
	case len(lines) == 1:
		return fmt.Sprintf("as in a loop without an end: its loop is in line %d.", lines[0])
	}
	return fmt.Sprintf("as in a loop without an end: its loops are in the lines %s.", strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]"))
}
