package deno

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/procdir"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/process"

	"go.uber.org/zap"
)

// startLimit bounds the start of a process, up to its readiness.
const startLimit = 30 * time.Second

// variant is what a process is started with: the pool keeps processes per
// variant.
type variant struct {
	binary string
	memory int64 // the limit, in bytes
	ready  *prepared
	making bool // it loads packages to fill their databases
	narrow bool // its only permissions are for what it loads
}

// variantKey returns a key of the variant and of the environment of its processes,
// "" if there is no Deno at its path.
func (r *Runner) variantKey(v variant) string {
	info, err := os.Stat(v.binary)
	if err != nil {
		return ""
	}
	env, _ := r.runEnv(r.cfg.Policy, "", "")
	return fmt.Sprint(v.binary, info.Size(), info.ModTime().UnixNano(), v.memory, v.ready.dir, v.ready.locked, v.ready.npm, v.ready.remote, env)
}

// policy returns what the process may touch. A process that runs no program may
// touch only what loading needs.
func (in *instance) policy() runners.Policy {
	if in.variant.making || in.variant.narrow {
		return runners.Policy{}
	}
	return in.r.cfg.Policy
}

// withoutCache returns p without write access to the cache and to our scripts,
// which other processes run.
func (in *instance) withoutCache(p runners.Policy) runners.Policy {
	if p.Write.Any() && !p.DenyWrite.All {
		p.DenyWrite.List = append(slices.Clip(p.DenyWrite.List), in.r.cfg.Cache.Root(), in.r.runDirs.bootstrap(), in.r.runDirs.own())
	}
	return p
}

// flags returns the arguments for Deno.
func (in *instance) flags() []string {
	r, v, f, policy := in.r, in.variant, in.dir, in.policy()
	args := []string{"run", "--quiet", "--cached-only", "--no-prompt", heapFlag(v.memory)}
	read := []string{f.work(), f.temp()}
	var imports []string
	if v.ready.config {
		args = append(args, "--config="+filepath.Join(f.path, configName))
	} else {
		args = append(args, "--no-config")
	}
	switch {
	case v.ready.own:
		args = append(args, "--import-map="+filepath.Join(f.path, mapName))
	case v.ready.dir != "":
		args = append(args, "--import-map="+filepath.Join(v.ready.dir, mapName))
	}
	if v.ready.locked {
		args = append(args, "--lock="+filepath.Join(v.ready.dir, lockName), "--frozen")
	} else {
		args = append(args, "--no-lock")
	}
	read = slices.Concat(read, v.ready.dirs, v.ready.copies)
	if v.ready.remote {
		imports = importFlags(policy, r.cfg.JSRURL)
		if len(imports) == 0 {
			imports = []string{"--allow-import"} // --cached-only forbids the rest
		}
	}
	if !v.ready.npm && !v.ready.remote || !in.coded {
		args = append(args, "--no-code-cache") // the cache would not be used again
	}
	write := []string{f.work(), f.temp(), f.report()}
	args = append(args, permissionFlags(in.withoutCache(policy), read, write, imports)...)
	return append(args, r.runDirs.bootstrap())
}

// instance is a Deno process with its own directory. It is started before its run
// or for it, waits for its orders, and is used once. The caller that leases it
// calls discard, or passes it to job.command and then calls leave.
type instance struct {
	r       *Runner
	variant variant
	lot     *lot      // nil if it is not the pool's
	begun   time.Time // when it was launched
	dir     *runDir

	denoDir string // its DENO_DIR
	coded   bool   // it has databases of V8's code, or fills them

	started chan struct{} // closed when it is ready, or has failed
	// The rest is set before started is closed.
	err    error            // why it failed
	p      *process.Process // nil if there is none
	before process.Usage    // what it has used so far
}

// place is the bootstrap's configuration, sent when it starts.
type place struct {
	Report string   `json:"report"` // the pipe for the report
	Revoke bool     `json:"revoke"` // revoke the permission to write there
	Hide   []string `json:"hide"`   // variables to unset
}

// launch starts a Deno in the background. It is killed if ctx ends before it is
// ready.
func (r *Runner) launch(ctx context.Context, v variant) *instance {
	in := &instance{r: r, variant: v, begun: time.Now(), started: make(chan struct{})}
	r.background.Go(func() {
		defer close(in.started)
		in.err = in.start(ctx)
	})
	return in
}

// start starts the process and waits until it is ready.
func (in *instance) start(ctx context.Context) error {
	r := in.r
	var err error
	if in.dir, err = r.runDirs.take(); err != nil {
		return err
	}
	if err := in.arrange(); err != nil {
		return err
	}
	report, err := process.MakePipe(in.dir.report())
	if err != nil {
		return err
	}
	in.p, err = in.exec()
	if err != nil {
		if report != nil {
			report.Close()
		}
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
		return fmt.Errorf("start Deno %s: %w%s", r.version, err, lastLines(words))
	}
	return nil
}

// exec starts the process.
func (in *instance) exec() (*process.Process, error) {
	may := in.confinement()
	env, _ := in.r.runEnv(in.policy(), in.denoDir, in.dir.temp())
	return in.r.starter.Start(process.Command{
		Path: in.variant.binary, Args: in.flags(), Dir: in.dir.work(), Env: env, Spec: may, Group: may != nil,
	})
}

// configure sends the process its place, waits for the byte that reports it
// ready, and limits it.
func (in *instance) configure() error {
	_, hide := in.r.runEnv(in.policy(), in.denoDir, in.dir.temp())
	report := in.dir.report()
	// Revoking also revokes grants of all parent directories, which the program
	// keeps where the policy has them.
	revoke := !in.policy().CanWrite(report)
	if err := writeFrame(in.p.Stdin, place{Report: report, Revoke: revoke, Hide: hide}); err != nil && !errors.Is(err, os.ErrClosed) {
		// It may have died; its stderr explains why.
		in.r.log.Debug("Deno does not read its stdin", zap.Error(err))
	}
	if err := in.p.Stdout.ReadFull(make([]byte, 1), startLimit); err != nil {
		return err
	}
	in.before = in.p.Usage()
	if err := in.p.Limit(in.variant.memory); err != nil {
		in.r.warnOnce.Do(func() { in.r.log.Warn("memory outside the JavaScript heap is not limited", zap.Error(err)) })
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

// await waits until the instance is ready. It returns the context's cause if ctx
// ends first.
func (in *instance) await(ctx context.Context) error {
	select {
	case <-in.started:
		return in.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ready reports whether the start has finished, with success or not.
func (in *instance) ready() bool {
	select {
	case <-in.started:
		return true
	default:
		return false
	}
}

// alive reports whether a started instance can still take orders.
func (in *instance) alive() bool { return in.err == nil && !in.p.Exited() }

// discard ends an instance without orders, in the background.
func (in *instance) discard() {
	in.r.background.Go(func() {
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
	in.r.background.Go(func() {
		<-in.p.End()
		in.clear()
	})
}

// clear removes the instance's files. The process must have ended.
func (in *instance) clear() {
	if in.dir == nil {
		return
	}
	// A live process that left the group may have the directories open.
	keep := sandbox.Probe().Name == sandbox.Full && !unconfined(in.r.cfg.Policy)
	if !in.guarded() {
		in.dir.linked = false
		_ = procdir.RemoveAll(in.dir.denoDir()) // the next run tries again
	}
	if in.denoDir == in.r.denoDir {
		// Deno keeps compiled TypeScript by the file's path, and that of modules
		// without a path by their digest.
		gen := filepath.Join(in.denoDir, "gen")
		for _, dir := range []string{in.r.genDir(in.dir.work()), filepath.Join(gen, "blob"), filepath.Join(gen, "data")} {
			_ = os.RemoveAll(dir) // best effort: the next run tries again
		}
	}
	if err := in.dir.giveBack(keep); err != nil {
		in.r.log.Warn("the directory of a run cannot be removed", zap.Error(err))
	}
}

func trimVolume(name string) string { return strings.ReplaceAll(name, ":", "") }
