package process

import (
	"context"
	"os"
	"sync"
	"time"

	"coderunner/internal/process"

	"go.uber.org/zap"
)

// The process of a program without packages is not started but forked, from one that was ready
// for a program and never gets one (its zygote), in the directory of both:
//
//	begin ─> Deno is started, and ready ─> Freeze ─┬─> Fork ─> it waits ─> the run ─┐
//	                                               └── again <── emptied directory <┘
//
// So Deno starts and the bootstrap is compiled once for many runs. A zygote has run nothing but
// Deno and the bootstrap, and its forks have no file, pipe or memory through which one could leave
// something for the next: see package sandbox. What they would have in common besides is made
// anew for each: see prepareFork in bootstrap.js.

// CanFork reports whether processes of a variant can be forked. Those with packages have Deno's
// databases open, sessions pipes of their own, and placeholders of secrets are for one process.
func (l *Leases) CanFork(v Variant) bool {
	in := &Instance{Launcher: l.Launcher, Variant: v}
	return l.Pool != nil && !v.Merged && in.forkable() && in.kept() && !l.unforked.Load() && process.CanFork() == nil
}

// forkable reports whether the variant of the instance allows forks.
func (in *Instance) forkable() bool {
	v := in.Variant
	return v.Ready != nil && v.Ready.Dir == "" && !v.Ready.NPM && !v.Ready.Remote && !v.Session && !v.Making && !v.Narrow && v.Early == nil &&
		in.Config.Network.Intercept == nil && in.guarded()
}

// Forked reports whether the process of a ready instance is a fork, or restored from a snapshot.
func (in *Instance) Forked() bool { return in.zygote != nil || in.restored }

// firstFork makes the process of an instance whose zygote is ready. Where that cannot be, it
// starts one, and no more zygotes.
func (in *Instance) firstFork(ctx context.Context) error {
	in.Process = nil
	var err error
	if in.Variant.Keeps && in.Variant.Warm {
		err = in.warm()
	}
	if err == nil {
		err = in.zygote.Freeze()
	}
	if err == nil {
		err = in.fork()
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !in.unforked.Swap(true) {
		in.Log.Info("Deno is started for each run, not forked", zap.Error(err))
	}
	in.zygote.End()
	in.zygote = nil
	if err := os.Remove(in.Dir.Report()); err != nil { // the other process has one of its own
		return err
	}
	return in.boot(ctx, false)
}

// fork makes the process of an instance.
func (in *Instance) fork() (err error) {
	if in.Process, err = in.zygote.Fork(in.Guard.Attach, in.Guard.Settle); err != nil {
		return err
	}
	return in.limit()
}

// putBack takes back an instance whose process has ended.
func (l *Leases) putBack(in *Instance) {
	in.used = true
	in.Guard.Close()
	if in.zygote != nil && in.Dir.Empty() == nil {
		l.Pool.Put(in.Key, in)
		return
	}
	l.Pool.Discard(in.Key)
	in.Discard()
}

// zygote is what the processes of an instance are forks of, one after the other.
type zygote struct {
	*process.Zygote
	warm sync.Once
}

// warmUp has the zygote of an instance load what Deno loads when something first uses it, in the
// background, when its first program has run: nobody waits for it, and servers that run no such
// programs have less memory in use, and their forks fewer pages.
func (in *Instance) warmUp() {
	in.zygote.warm.Do(func() {
		in.Background.Go(func() {
			if err := in.zygote.RunOn(in.warm); err != nil {
				in.Log.Debug("a process that is forked has ended", zap.Error(err))
			}
		})
	})
}

// warm has the zygote, which runs, load it.
func (in *Instance) warm() error {
	z := in.zygote
	if err := WriteFrame(z.Stdin, map[string]bool{"warm": true}); err != nil {
		return err
	}
	return z.Stdout.ReadFull(make([]byte, len("\n\x06")), startLimit)
}

// again returns an instance with a new process, the zygote and the directory of a used one.
func (in *Instance) again() (*Instance, error) {
	next := &Instance{
		Launcher: in.Launcher, Variant: in.Variant, Key: in.Key, home: in.home, Launched: time.Now(),
		Dir: in.Dir, OwnDir: in.OwnDir, arranged: always, started: always, zygote: in.zygote,
	}
	if err := next.fork(); err != nil {
		if in.home.ctx.Err() == nil {
			in.Log.Info("Deno is started anew, not forked again", zap.Error(err))
		}
		return nil, err
	}
	if in.Variant.Warm {
		next.warmUp()
	}
	return next, nil
}

// always is closed.
var always = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
