package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/internal/trace"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"

	"go.uber.org/zap"
)

// guarded reports whether the kernel denies the process writes to its DENO_DIR, so
// that the next run can use it.
func (in *Instance) guarded() bool { return in.cannotWrite(in.RunDirs.Path) }

// cannotWrite reports whether the kernel denies the process writes to a path. It knows no
// exceptions from what the policy grants.
func (in *Instance) cannotWrite(path string) bool {
	p := in.policy()
	p.DenyWrite.List = nil
	return !Unconfined(p) && sandbox.ABI() > 0 && !p.CanWrite(path)
}

// kept reports whether the instance's directories can be used again: a live process that left
// the group may have them open.
func (in *Instance) kept() bool {
	return !in.Config.Leaving && sandbox.Probe().Name == sandbox.Full && !Unconfined(in.Config.Policy)
}

// cold reports whether the instance has packages and no databases that were made for them.
func (in *Instance) cold() bool {
	return in.Variant.Ready.NPM && (in.Variant.Making || in.code == "")
}

// arrange makes the DENO_DIR of an instance.
func (in *Instance) arrange() error {
	v := in.Variant
	if err := in.configureDeno(); err != nil {
		return err
	}
	if err := in.Dir.link(in.DenoDir, v.Ready.Dir != "" || v.Session || !in.guarded()); err != nil {
		// Some systems restrict symbolic links. Deno then writes to its cache, where
		// that is allowed.
		in.Log.Debug("Deno has no directory of its own for a run", zap.Error(err))
		in.OwnDir = in.DenoDir
		return nil
	}
	in.OwnDir = in.Dir.denoDir()
	master := ""
	if !v.Making { // who fills new ones has none
		master = in.Databases(v)
	}
	place := in.guarded() && in.cannotWrite(in.Config.Cache.Root()) && in.cannotWrite(master) // a grant may be of a part of the cache
	if in.code = master; master != "" && !place || v.Making {
		in.code = in.Dir.Code()
		if err := codecache.Copy(master, in.code); err != nil {
			return fmt.Errorf("copy Deno's databases: %w", err)
		}
	}
	return in.Dir.linkCode(in.code) // "": Deno has its databases in memory
}

// configureDeno writes what Deno's flags name, as far as it depends on the run.
func (in *Instance) configureDeno() (err error) {
	ready, policy := in.Variant.Ready, in.allowed()
	for name, prepared := range map[string]bool{MapName: ready.MapsFiles, ConfigName: ready.Config} {
		text, sys := []byte("{}"), name == ConfigName && namesSys(policy)
		if !prepared && !sys {
			continue
		}
		if prepared { // the addresses in it are relative to its own path
			text, err = os.ReadFile(filepath.Join(ready.Dir, name))
		}
		if err == nil && sys {
			text, err = withSys(text, policy)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(in.Dir.Path, name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write %s for Deno: %w", name, err)
		}
	}
	return nil
}

// startLimit bounds the start of a process, up to its readiness.
const startLimit = 30 * time.Second

// Launch starts a Deno in the background. It is killed if ctx ends before it is
// ready.
func (l *Launcher) Launch(ctx context.Context, v Variant) *Instance {
	in := &Instance{Launcher: l, Variant: v}
	in.begin(ctx)
	return in
}

// begin starts the instance in the background.
func (in *Instance) begin(ctx context.Context) {
	in.Launched, in.arranged, in.started = time.Now(), make(chan struct{}), make(chan struct{})
	in.Background.Go(func() {
		defer close(in.started)
		in.err = in.start(ctx)
	})
}

// start starts the process and waits until it is ready.
func (in *Instance) start(ctx context.Context) error {
	arranged := sync.OnceFunc(func() { close(in.arranged) })
	defer arranged()
	var err error
	forks := in.Variant.Keeps || in.home != nil && !in.unforked.Load()
	arranging := trace.Begin("make the run's directory")
	if in.Dir, err = in.RunDirs.Take(); err == nil && in.restore(arranged) {
		return in.limit()
	}
	if err == nil {
		var written error
		var writing sync.WaitGroup
		writing.Go(func() { written = in.RunDirs.writeBootstrap(in.Variant) })
		err = in.arrange()
		writing.Wait()
		err = errors.Join(err, written)
	}
	if arranging(); err != nil {
		return err
	}
	if in.Variant.Early == nil {
		arranged()
	}
	if in.Variant.Session {
		if in.Orders, err = process.OpenPipe(in.Dir.orders()); err != nil {
			return err
		}
	}
	if err = in.boot(ctx, forks); forks && err == nil {
		err = in.firstFork(ctx)
	}
	if err != nil {
		in.Orders.Close()
	}
	return err
}

// boot starts the process, or its zygote, and waits until it is ready.
func (in *Instance) boot(ctx context.Context, forks bool) (err error) {
	if in.Process, err = in.exec(forks); err != nil {
		return err
	}
	p := in.Process // what is nil below must not be for whoever cancels then
	stop := context.AfterFunc(ctx, func() { p.Kill(process.StopContext) })
	defer stop()
	if err = in.configure(); err == nil && !forks {
		err = in.limit()
	}
	if err != nil {
		p.Kill("not ready")
		stderr := runners.NewCapture(runners.DefaultOutput)
		var readers sync.WaitGroup
		readers.Go(func() { p.Copy(stderr, p.Stderr) })
		p.Wait(&readers)
		in.Process, in.zygote = nil, nil
		words, _ := stderr.Text()
		return fmt.Errorf("start Deno %s: %w%s", in.Version, err, LastLines(words))
	}
	return nil
}

// compiled returns where Deno puts the compiled TypeScript of the program.
func (in *Instance) compiled() string {
	if in.OwnDir == in.DenoDir {
		return in.GenDir(in.Dir.Work())
	}
	return in.Dir.gen()
}

// exec starts the process, or its zygote.
func (in *Instance) exec(forks bool) (*process.Process, error) {
	defer trace.Begin("start Deno, confined")()
	c := in.command()
	if !forks {
		return process.Start(c)
	}
	z, err := process.StartZygote(c)
	if err != nil {
		return nil, err
	}
	in.zygote = &zygote{Zygote: z}
	return z.Process, nil
}

// command returns the command by which the process is started.
func (in *Instance) command() process.Command {
	may := in.Confinement()
	env, _ := in.runEnv(in.policy(), in.OwnDir, in.Dir.Temp())
	env = append(env, in.interceptEnv()...)
	if e := in.Variant.Early; e != nil && e.trial {
		env = append(env, auditVariable+"="+in.Dir.audit())
	}
	input := ""
	if in.Variant.Session {
		input = in.Dir.stdin()
	}
	return process.Command{
		Path: in.Variant.Binary, Args: in.commandLine(), Dir: in.Dir.Work(), Env: env, Spec: may, Group: may != nil,
		Merged: in.Variant.Merged, Input: input, BeforeKill: in.Guard.Settle,
	}
}

// configure makes what Deno has no use for before its setup, sends that, and waits for the byte
// that reports the process ready.
func (in *Instance) configure() (err error) {
	defer trace.Begin("wait until Deno is ready")()
	if err = in.Dir.Complete(); err == nil {
		in.Process.Report, err = process.MakePipe(in.Dir.Report())
	}
	if err != nil {
		return err
	}
	if err := WriteFrame(in.Process.Stdin, in.setup()); err != nil && !errors.Is(err, os.ErrClosed) {
		// It may have died; its stderr explains why.
		in.Log.Debug("Deno does not read its stdin", zap.Error(err))
	}
	if in.OwnDir != in.DenoDir {
		if err := in.Dir.linkGen(); err != nil { // which Deno has no use for before the program
			return err
		}
	}
	return in.Process.Stdout.ReadFull(make([]byte, 1), startLimit)
}

// limit limits the process, which is ready, and has it load its early packages.
func (in *Instance) limit() (err error) {
	if in.Before, err = in.Process.Limit(in.Variant.Memory); err != nil {
		in.warnOnce.Do(func() { in.Log.Warn("memory outside the JavaScript heap is not limited", zap.Error(err)) })
	}
	if in.Variant.Early == nil {
		return nil
	}
	err = in.loadEarly()
	in.Before = in.Process.Usage()
	return err
}

// WriteFrame writes v as JSON after its length in eight hexadecimal digits.
func WriteFrame(w io.Writer, v any) error {
	b := runners.JSON(v)
	_, err := fmt.Fprintf(w, "%08x%s", len(b), b)
	return err
}

// Discard ends an instance without orders, in the background.
func (in *Instance) Discard() {
	in.Background.Go(func() {
		<-in.started
		if in.Process != nil && !in.used {
			in.Process.Kill("not used")
			in.Process.Wait(new(sync.WaitGroup))
		}
		if in.zygote != nil {
			in.zygote.End()
		}
		in.Clear()
	})
}

// Leave cleans up after a run in the background, since the process may still be
// ending.
func (in *Instance) Leave() {
	cleaning, p := &in.Background, in.policy()
	if in.Config.Leaving && !in.Process.Grouped() && !p.Write.Any() && !Supervised(p) {
		cleaning = &in.Dying // what was killed makes nothing in directories that are gone
	}
	cleaning.Go(func() {
		if <-in.Process.End(); in.home != nil {
			in.home.putBack(in)
			return
		}
		in.Clear()
	})
}

// Clear removes the instance's files. The process must have ended.
func (in *Instance) Clear() {
	in.Orders.Close() // a nil file returns an error, ignored
	in.Guard.Close()
	in.RunDirs.closing.RLock()
	defer in.RunDirs.closing.RUnlock()
	if in.Dir == nil || in.RunDirs.closed {
		return
	}
	keep := in.kept()
	if !in.guarded() {
		_ = in.Dir.unlink() // the next run tries again
	}
	if in.OwnDir == in.DenoDir {
		// Deno keeps compiled TypeScript by the file's path, and that of modules
		// without a path by their digest.
		gen := filepath.Join(in.DenoDir, "gen")
		for _, dir := range []string{in.GenDir(in.Dir.Work()), filepath.Join(gen, "blob"), filepath.Join(gen, "data")} {
			_ = os.RemoveAll(dir) // best effort: the next run tries again
		}
	}
	if err := in.Dir.GiveBack(keep); err != nil {
		in.Log.Warn("the directory of a run cannot be removed", zap.Error(err))
	}
}
