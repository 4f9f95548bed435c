package deno

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/netpolicy"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// killedCode is the exit code of a program that was killed.
const killedCode = 128 + 9

// orders are sent to the bootstrap when there is a program.
type orders struct {
	Main    string   `json:"main"`  // the program's URL
	Path    string   `json:"path"`  // its path
	Shown   string   `json:"shown"` // its name in messages
	Args    []string `json:"args,omitempty"`
	Argv    bool     `json:"argv"`    // the program looks at process.argv
	Workers bool     `json:"workers"` // and may start Workers
	Threads bool     `json:"threads"` // by node:worker_threads
	OS      bool     `json:"os"`      // it may use node:os
	Names   bool     `json:"names"`   // and so may packages, by the names of its functions
	Process bool     `json:"process"` // and node:process
	Net     bool     `json:"net"`     // it uses node:net, and may not reach everything
	Room    int64    `json:"room"`    // most characters of the result
	Tell    bool     `json:"tell"`    // report when it is over
	Load    bool     `json:"load"`    // load the program and evaluate nothing

	*sessionOrders
}

// sessionOrders are the orders of a session's program.
type sessionOrders struct {
	Code    string `json:"code"`
	Script  string `json:"script"`  // its URL in stacks
	Nonce   string `json:"nonce"`   // to report its end with
	Typed   bool   `json:"typed"`   // it is TypeScript
	Value   bool   `json:"value"`   // it ends with an expression
	Written bool   `json:"written"` // which returns how much was written
}

// instance returns a ready Deno, an idle one if there is one. It returns the
// context's cause if ctx ends first.
func (j *job) instance(ctx context.Context) (*instance, error) {
	if begun := time.Now(); !j.fresh {
		in := j.leases.take(ctx, j.variant())
		j.key = in.key
		err := in.await(ctx)
		if err == nil && in.alive() {
			return in, nil
		}
		in.discard()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !in.begun.Before(begun) {
			return nil, err // another start would fail, too
		}
	}
	in := j.leases.launch(ctx, j.variant())
	if err := in.await(ctx); err != nil {
		in.discard()
		return nil, err
	}
	return in, nil
}

// variant returns the variant of the job's process.
func (j *job) variant() variant {
	merged := j.req.Stdout != nil && j.req.Stdout == j.req.Stderr
	return variant{binary: j.binary, memory: j.req.Limits.Memory, ready: j.ready, merged: merged, kept: j.req.Session != nil}
}

// mentions reports whether the program or its files contain a word.
func (j *job) mentions(word string) bool {
	return strings.Contains(j.req.Code, word) || slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return bytes.Contains(f.Data, []byte(word))
	})
}

// threads reports whether the program or its packages may start Workers.
func (j *job) threads() bool {
	return j.ready.uses.Workers || j.mentions("Worker") || j.mentions("worker_threads")
}

// imports reports whether the program or its files may import a module of Node.
func (j *job) imports(module string) bool {
	return slices.ContainsFunc([]string{`"` + module + `"`, `'` + module + `'`, "node:" + module}, j.mentions)
}

// execute runs the job's program, or only loads it.
func (j *job) execute(ctx context.Context, load bool) (*ending, error) {
	for {
		in, err := j.instance(ctx)
		if err != nil {
			return nil, err
		}
		if err := in.dir.write(j.main, j.program.Edited(), j.files); err != nil {
			in.discard()
			return nil, err
		}
		end := j.command(ctx, in, load)
		if end != nil && !load {
			given := append([]runners.File{{Path: j.main, Data: []byte(j.program.Edited())}}, j.files...)
			end.files, end.filesOmitted = in.dir.left(given)
		}
		in.leave()
		if end != nil {
			return end, nil
		}
		j.fresh = true
	}
}

// command sends an instance its orders and waits for the end of the program. It
// returns nil if the process died idle, before it had read them.
func (j *job) command(ctx context.Context, in *instance, load bool) *ending {
	p := in.p
	in.guard.SetRun(j.net)
	end := &ending{
		limits: j.req.Limits, main: filepath.Base(j.script), shown: j.shown, work: in.dir.work(), program: j.program,
		workers: j.threads() || in.workers, free: unconfined(j.leases.cfg.Policy),
	}
	req := j.req
	if req.Stderr != nil {
		end.held.w, req.Stderr = req.Stderr, &end.held
	}
	end.stdout, end.stderr = req.Captures()
	stopCtx := context.AfterFunc(ctx, func() { p.Kill(process.StopContext) })
	defer stopCtx()
	if _, ok := req.Stdin.(runners.Peeker); ok && !load && !in.variant.kept && p.Stdin.Narrow() == nil {
		in.drip = &drip{s: &j.stdin, p: p}
	}
	p.Settle(end.workers, in.variant.kept)
	begun := time.Now()
	timer := time.AfterFunc(j.left, func() { p.Kill(stopTime) })
	defer timer.Stop()

	j.req.Progress.Report(runners.Progress{Phase: "run"})
	var readers sync.WaitGroup
	over := make(chan struct{}) // closed when the program reports that it is over
	unread := false             // the orders could not be written
	tell := func() { close(over) }
	if (end.free || load) && !in.variant.kept {
		// A child process, or native code, may write after the program's end.
		tell = nil
	}
	if p.Report != nil {
		readers.Go(func() { end.report = readReport(p.Report, end.limits.Output, j.nonce, tell) })
	}
	if in.variant.merged {
		end.stdout = end.stderr // where the end of a failed program is explained
	}
	readers.Go(func() { p.Copy(end.stdout, p.Stdout) })
	readers.Go(func() { p.Copy(end.stderr, p.Stderr) })
	readers.Go(func() { unread = !j.order(in, tell != nil, load) })
	if !j.again {
		go p.Reap()
	}
	watching, stopWatch := context.WithCancel(context.Background())
	defer stopWatch()
	watched := make(chan struct{})
	j.leases.background.Go(func() {
		defer close(watched)
		p.Watch(watching, in.dir.path)
	})

	select {
	case <-over:
		// All of its output is in the pipes.
		in.guard.Settle()
		end.used = in.usage()
		if in.variant.kept {
			p.Pause(&readers)
			stopWatch()
			<-watched // it knows the limits of this program
			end.paused = p.Stopped() == ""
		} else {
			p.Kill(stopDone)
		}
	case <-p.End():
	}
	if p.Stopped() != stopDone && !end.paused {
		<-p.End()
		end.used = in.usage()
	}
	if in.drip != nil {
		req.Stdin.(runners.Peeker).Consumed(in.drip.consumed())
	}
	if !end.paused {
		in.orders.Close() // a nil file returns an error, ignored
		p.Collect(&readers)
	}
	if p.Report == nil {
		end.report = readReportFile(in.dir.report(), end.limits.Output)
	}
	if unread && in.key != "" && p.Stopped() == "" {
		return nil
	}
	end.stopped, end.filled = p.Stopped(), p.Filled()
	switch {
	case end.paused && end.report.exit == nil:
		end.exitCode = 1 // the report is broken
	case end.paused:
		end.exitCode = *end.report.exit
	case end.stopped == stopDone:
		end.stopped, end.exitCode = "", *end.report.exit
	default:
		end.exitCode, end.signal = p.Exit()
	}
	took := time.Since(begun)
	j.left = max(j.left-took, 0)
	end.used.RunMS = took.Milliseconds()
	end.used.PrepareMS = begun.Sub(j.begun).Milliseconds()
	return end
}

// usage returns what the process has used since it was ready.
func (in *instance) usage() runners.Usage {
	u := in.p.Usage()
	return runners.Usage{
		CPUMS:           max(u.CPU-in.before.CPU, 0).Milliseconds(),
		PeakMemoryBytes: max(u.Peak, in.before.Peak),
	}
}

// order sends the bootstrap its orders and starts to copy the program's stdin,
// which may block. It reports whether the orders were written.
func (j *job) order(in *instance, tell, load bool) bool {
	main := filepath.Join(in.dir.work(), j.main)
	o := orders{
		Main: fileURL(main), Path: main, Shown: j.shown, Room: j.req.Limits.Output, Args: j.req.Args,
		Argv:    len(j.req.Args) > 0 || strings.Contains(j.req.Code, "argv"),
		Workers: j.threads(), Threads: j.ready.uses.Workers || j.imports("worker_threads"),
		OS: j.ready.uses.OS || j.imports("os"), Names: j.ready.uses.Names, Process: j.imports("process"),
		Net:  !j.leases.cfg.Policy.Net.All && slices.ContainsFunc([]string{"net", "tls", "http", "https"}, j.imports),
		Tell: tell, Load: load,
	}
	input := in.p.Stdin
	to := input.File
	if in.variant.kept {
		to = in.orders
		o.sessionOrders = &sessionOrders{
			Code: j.program.Edited(), Script: fileURL(filepath.Join(in.dir.work(), j.script)), Nonce: j.nonce, Typed: typed(j.main),
			Value: j.program.Value, Written: j.program.Written,
		}
	}
	// The process may end at any time.
	if err := writeFrame(to, o); err != nil {
		input.Close()
		return false
	}
	if load {
		input.Close()
		return true
	}
	go func() {
		defer input.Close()
		if in.drip != nil {
			in.drip.copy()
			return
		}
		j.stdin.copy(input)
	}()
	return true
}

// job is one run in progress.
type job struct {
	analysis
	leases *leases
	req    runners.Request
	binary string
	ready  *prepared
	begun  time.Time
	stdin  stdin
	left   time.Duration // for all processes of the run together
	key    string        // of its process, "" if that is not pooled

	net   *netpolicy.Run // nil: there is no network
	fresh bool           // do not take an idle process

	script string // its name in stacks: that of main, and in a session another one each time
	again  bool   // its session's process has run a program
	nonce  string // of its session's call
}

func cancelled() *runners.Outcome {
	return &runners.Outcome{
		Status: runners.Cancelled, ExitCode: killedCode, Packages: []runners.Package{},
		Error: &runners.Error{Type: "Cancelled", Message: "the run was cancelled"},
	}
}
