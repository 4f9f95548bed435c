package deno

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"coderunner/runners"

	"go.uber.org/zap"
)

// startLimit bounds the start of a process, up to its readiness.
const startLimit = 30 * time.Second

// killedCode is the exit code of a program that was killed.
const killedCode = 128 + 9

// next is what to do after a process has ended.
type next int

const (
	done    next = iota
	plain        // it could not load the edited program: run the plain one
	refetch      // something is missing in Deno's cache: fetch it and run again
)

// orders are what the bootstrap is told.
type orders struct {
	Main   string   `json:"main"`   // the program's URL
	Path   string   `json:"path"`   // and its path
	Report string   `json:"report"` // the file to report in
	Argv   bool     `json:"argv"`   // the program looks at process.argv
	Hide   []string `json:"hide"`   // variables to unset
	Room   int64    `json:"room"`   // characters for the result
}

// flags are the arguments for Deno.
func (j *job) flags() []string {
	r := j.r
	args := []string{"run", "--quiet", "--cached-only", "--no-config", "--no-prompt", heapFlag(j.req.Limits.Memory)}
	read := []string{j.folder.work(), j.folder.temp()}
	var imports []string
	if j.ready.dir != "" {
		args = append(args, "--import-map="+filepath.Join(j.ready.dir, mapName))
	}
	if j.ready.locked {
		args = append(args, "--lock="+filepath.Join(j.ready.dir, lockName), "--frozen")
	} else {
		args = append(args, "--no-lock")
	}
	if j.ready.npm {
		read = append(read, filepath.Join(r.denoDir, "npm"))
	}
	if j.ready.remote {
		imports = importFlags(r.cfg.Policy, r.cfg.JSRURL)
		if len(imports) == 0 {
			imports = []string{"--allow-import"} // all of it is cached, or it is not there
		}
	}
	if !j.ready.npm && !j.ready.remote {
		args = append(args, "--no-code-cache") // nothing that would be used again
	}
	write := []string{j.folder.work(), j.folder.temp(), j.folder.report()}
	args = append(args, permissionFlags(r.cfg.Policy, read, write, imports)...)
	args = append(args, r.folders.bootstrap())
	return append(args, j.req.Args...)
}

// start starts a process for the job. Hide are the variables to unset in it.
func (j *job) start() (p *process, hide []string, err error) {
	env, hide := j.r.runEnv(j.folder.temp())
	spec, err := j.spec()
	if err != nil {
		return nil, nil, err
	}
	p, err = j.r.starter.process(command{path: j.binary, args: j.flags(), dir: j.folder.work(), env: env, spec: spec})
	if err != nil {
		if os.IsNotExist(err) && j.r.named == "" {
			j.r.pinned.Store("") // somebody emptied the cache; the next run fetches it
		}
		return nil, nil, err
	}
	return p, hide, nil
}

// awaitReady waits for the byte with which the bootstrap says that it waits
// for orders.
func awaitReady(p *process) error {
	if err := p.stdout.f.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	var b [1]byte
	if _, err := io.ReadFull(p.stdout, b[:]); err != nil {
		return err
	}
	return p.stdout.f.SetReadDeadline(time.Time{})
}

// execute runs the job's program in its folder, which is empty.
func (j *job) execute(ctx context.Context) (*runners.Outcome, next, error) {
	if ctx.Err() != nil {
		return cancelled(), done, nil
	}
	if err := j.folder.write(j.main, j.program.edited(), j.req.Files); err != nil {
		return nil, done, err
	}
	p, hide, err := j.start()
	if err != nil {
		return nil, done, err
	}
	stopCtx := context.AfterFunc(ctx, func() { p.kill(stopCancel) })
	defer stopCtx()

	end := &ending{
		limits: j.req.Limits, main: j.main, shown: j.shown, work: j.folder.work(), program: j.program,
		stdout: runners.NewCapture(j.req.Limits.Output), stderr: runners.NewCapture(j.req.Limits.Output),
	}
	var readers sync.WaitGroup
	readers.Go(func() { copyOutput(end.stderr, p.stderr, p) })
	var peak int64
	readyErr := awaitReady(p)
	if readyErr == nil {
		var err error
		if peak, err = confine(p.cmd.Process.Pid, j.req.Limits.Memory); err != nil {
			j.r.warnOnce.Do(func() { j.r.log.Warn("memory outside the JavaScript heap is not limited", zap.Error(err)) })
		}
	} else {
		p.kill("not ready")
		p.wait(&readers)
		if ctx.Err() != nil {
			return cancelled(), done, nil
		}
		words, _ := end.stderr.Text()
		return nil, done, fmt.Errorf("start Deno %s: %w%s", j.r.version, readyErr, lastLines(words))
	}
	begun := time.Now()
	timer := time.AfterFunc(j.req.Limits.Timeout, func() { p.kill(stopTime) })
	defer timer.Stop()
	readers.Go(func() { copyOutput(end.stdout, p.stdout, p) })
	readers.Go(func() { j.order(p, hide) })
	readers.Go(func() { watchDisk(p, j.folder.path) })
	state := p.wait(&readers)
	took := time.Since(begun)

	end.stopped = p.stopped()
	end.exitCode, end.signal = exitOf(state)
	end.report = readReport(j.folder.report())
	o := end.outcome()
	o.Packages = append(o.Packages, j.ready.packages...)
	o.Usage.RunMS = took.Milliseconds()
	if state != nil {
		o.Usage.CPUMS = (state.UserTime() + state.SystemTime()).Milliseconds()
		peak = max(peak, peakMemory(state))
	}
	if done := end.report.done; done != nil {
		peak = max(peak, done.Memory)
	}
	o.Usage.PeakMemoryBytes = peak
	return o, j.after(end, o), nil
}

// order sends the bootstrap its orders, and then the program its stdin. It
// ends at the latest when the process does.
func (j *job) order(p *process, hide []string) {
	main := filepath.Join(j.folder.work(), j.main)
	b, err := json.Marshal(orders{
		Main: fileURL(main), Path: main, Report: j.folder.report(), Hide: hide, Room: j.req.Limits.Output,
		Argv: strings.Contains(j.req.Code, "argv"),
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	// The process may end at any time; what is not written then is not read.
	defer p.stdin.Close()
	if _, err := fmt.Fprintf(p.stdin, "%08x%s", len(b), b); err != nil {
		return
	}
	_, _ = io.WriteString(p.stdin, j.req.Stdin)
}

// copyOutput reads a stream to its end, and kills the process when it floods.
func copyOutput(w io.Writer, f io.Reader, p *process) {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		if _, werr := w.Write(buf[:n]); werr != nil {
			p.kill(stopOutput)
			return
		}
		if err != nil {
			return
		}
	}
}

// exitOf gives a process's exit code, 128 and the signal's number if a signal
// ended it.
func exitOf(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return 1, ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && runtime.GOOS != "windows" && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String()
	}
	return state.ExitCode(), ""
}

// after says what to do next. Only a program that could not be loaded may be
// run again: nothing of it has run.
func (j *job) after(end *ending, o *runners.Outcome) next {
	rec := end.report.thrown
	if o.Status != runners.Failed || rec == nil || rec.Kind != "thrown" || !rec.Load {
		return done
	}
	missing := uncached.MatchString(rec.Message) || strings.Contains(rec.Message, "The lockfile is out of date")
	switch {
	case missing && len(j.deps.targets) > 0:
		return refetch
	case len(j.program.edits) > 0:
		// Whatever Deno does not like about the program, it should say it of
		// the user's own text.
		return plain
	}
	return done
}
