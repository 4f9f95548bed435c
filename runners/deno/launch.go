package deno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"coderunner/internal/procdir"
	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"

	"go.uber.org/zap"
)

// guarded reports whether the kernel denies the process writes to its DENO_DIR, so
// that the next run can use it.
func (in *instance) guarded() bool {
	p := in.policy()
	return !unconfined(p) && sandbox.Probe().ABI > 0 && !p.CanWrite(in.runDirs.base)
}

// arrange makes the DENO_DIR of the instance.
func (in *instance) arrange() error {
	ready := in.variant.ready
	in.cold = ready.npm
	for name, wanted := range map[string]bool{mapName: ready.own, configName: ready.config} {
		if !wanted {
			continue
		}
		// The addresses in it are relative to its own path.
		text, err := os.ReadFile(filepath.Join(ready.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(in.dir.path, name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy the prepared %s: %w", name, err)
		}
	}
	if err := in.dir.link(in.denoDir); err != nil {
		// Some systems restrict symbolic links. Deno then writes to its cache, where
		// that is allowed.
		in.log.Debug("Deno has no directory of its own for a run", zap.Error(err))
		in.ownDir, in.coded = in.denoDir, true
		return nil
	}
	in.ownDir = in.dir.denoDir()
	master := ""
	if !in.variant.making { // that one fills new databases
		if master = in.databases(in.variant); master == "" {
			return nil // Deno has its databases in memory
		}
		in.cold = false
	}
	if err := codecache.Copy(master, in.dir.code()); err != nil {
		return fmt.Errorf("copy Deno's databases: %w", err)
	}
	in.coded = true
	return nil
}

// startLimit bounds the start of a process, up to its readiness.
const startLimit = 30 * time.Second

// launch starts a Deno in the background. It is killed if ctx ends before it is
// ready.
func (l *launcher) launch(ctx context.Context, v variant) *instance {
	in := &instance{launcher: l, variant: v, begun: time.Now(), started: make(chan struct{})}
	l.background.Go(func() {
		defer close(in.started)
		in.err = in.start(ctx)
	})
	return in
}

// start starts the process and waits until it is ready.
func (in *instance) start(ctx context.Context) error {
	var err error
	if in.dir, err = in.runDirs.take(); err != nil {
		return err
	}
	if err := in.arrange(); err != nil {
		return err
	}
	report, err := process.MakePipe(in.dir.report())
	if err != nil {
		return err
	}
	if in.variant.kept {
		in.orders, err = process.OpenPipe(in.dir.orders())
	}
	if err == nil {
		in.p, err = in.exec()
	}
	if err != nil {
		if report != nil {
			report.Close()
		}
		in.orders.Close()
		return err
	}
	in.p.Report = report
	stop := context.AfterFunc(ctx, func() { in.p.Kill(process.StopContext) })
	defer stop()
	if err := in.configure(); err != nil {
		in.p.Kill("not ready")
		stderr := runners.NewCapture(runners.DefaultOutput)
		var readers sync.WaitGroup
		readers.Go(func() { in.p.Copy(stderr, in.p.Stderr) })
		in.p.Wait(&readers)
		in.p = nil
		words, _ := stderr.Text()
		return fmt.Errorf("start Deno %s: %w%s", in.version, err, lastLines(words))
	}
	return nil
}

// compiled returns where Deno puts the compiled TypeScript of the program.
func (in *instance) compiled() string {
	if in.ownDir == in.denoDir {
		return in.genDir(in.dir.work())
	}
	return in.dir.gen()
}

// exec starts the process.
func (in *instance) exec() (*process.Process, error) {
	may := in.confinement()
	env, _ := in.runEnv(in.policy(), in.ownDir, in.dir.temp())
	env = append(env, in.interceptEnv()...)
	input := ""
	if in.variant.kept {
		input = in.dir.stdin()
	}
	return process.Start(process.Command{
		Path: in.variant.binary, Args: in.commandLine(), Dir: in.dir.work(), Env: env, Spec: may, Group: may != nil,
		Merged: in.variant.merged, Input: input, BeforeKill: in.guard.Settle,
	})
}

// configure sends the process its setup, waits for the byte that reports it
// ready, and limits it.
func (in *instance) configure() error {
	if err := writeFrame(in.p.Stdin, in.setup()); err != nil && !errors.Is(err, os.ErrClosed) {
		// It may have died; its stderr explains why.
		in.log.Debug("Deno does not read its stdin", zap.Error(err))
	}
	if err := in.p.Stdout.ReadFull(make([]byte, 1), startLimit); err != nil {
		return err
	}
	in.before = in.p.Usage()
	if err := in.p.Limit(in.variant.memory); err != nil {
		in.warnOnce.Do(func() { in.log.Warn("memory outside the JavaScript heap is not limited", zap.Error(err)) })
	}
	return nil
}

// writeFrame writes v as JSON after its length in eight hexadecimal digits.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	_, err = fmt.Fprintf(w, "%08x%s", len(b), b)
	return err
}

// discard ends an instance without orders, in the background.
func (in *instance) discard() {
	in.background.Go(func() {
		<-in.started
		if in.p != nil {
			in.p.Kill("not used")
			in.p.Wait(new(sync.WaitGroup))
		}
		in.clear()
	})
}

// leave cleans up after a run in the background, since the process may still be
// ending.
func (in *instance) leave() {
	in.background.Go(func() {
		<-in.p.End()
		in.clear()
	})
}

// clear removes the instance's files. The process must have ended.
func (in *instance) clear() {
	in.orders.Close() // a nil file returns an error, ignored
	in.guard.Close()
	if in.dir == nil {
		return
	}
	// A live process that left the group may have the directories open.
	keep := sandbox.Probe().Name == sandbox.Full && !unconfined(in.cfg.Policy)
	if !in.guarded() {
		in.dir.linked = false
		_ = procdir.RemoveAll(in.dir.denoDir()) // the next run tries again
	}
	if in.ownDir == in.denoDir {
		// Deno keeps compiled TypeScript by the file's path, and that of modules
		// without a path by their digest.
		gen := filepath.Join(in.denoDir, "gen")
		for _, dir := range []string{in.genDir(in.dir.work()), filepath.Join(gen, "blob"), filepath.Join(gen, "data")} {
			_ = os.RemoveAll(dir) // best effort: the next run tries again
		}
	}
	if err := in.dir.giveBack(keep); err != nil {
		in.log.Warn("the directory of a run cannot be removed", zap.Error(err))
	}
}
