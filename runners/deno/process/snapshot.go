package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/internal/trace"
	"coderunner/runners"

	"go.uber.org/zap"
)

// A command has no time to start a zygote and fork it: its process is restored from a snapshot,
// which is a zygote on disk.
//
//	first command ─> Deno is started ──────────────────> the run ─> a zygote is started and saved
//	next commands ─> Deno is restored from the snapshot ─> the run
//
// The paths of a run are in the memory of a zygote. So commands have a directory of a known name,
// where the run has the first of its directories; a command that finds it taken starts Deno.

// SnapshotKind is the cache's kind for snapshots, of which MaxSnapshots are kept. Each has 8 MB, or
// 17 with Node's part.
const (
	SnapshotKind = "deno-snapshot"
	MaxSnapshots = 16
)

// snapshotFormat changes with what a snapshot depends on and its key does not tell.
const snapshotFormat = 1

// Restorable reports whether the process of a variant is restored from a snapshot, if there is one.
// No snapshot has variables of the host, which may be secret.
func (l *Launcher) Restorable(v Variant) bool {
	in := &Instance{Launcher: l, Variant: v}
	given := func(name string) bool {
		_, ok := os.LookupEnv(name)
		return ok && l.Config.Policy.HostEnv(name)
	}
	return l.Config.Leaving && !l.Config.Portable && l.RunDirs.Named && !v.Keeps && in.forkable() && sandbox.CanFork() == nil && !slices.ContainsFunc(l.Config.Policy.Env.List, given)
}

// snapshotOf returns an instance of the variant in the directory that its snapshot knows.
func (l *Launcher) snapshotOf(v Variant) *Instance {
	in := &Instance{Launcher: l, Variant: v, Dir: l.RunDirs.first(), restored: true}
	in.OwnDir = in.Dir.denoDir()
	return in
}

// SnapshotKey returns a digest of all that a snapshot of the variant depends on, but for the
// libraries, "" if there can be none.
func (l *Launcher) SnapshotKey(v Variant) string {
	if !l.Restorable(v) {
		return ""
	}
	in := l.snapshotOf(v)
	info, err := os.Stat(v.Binary)
	if err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id") // clocks begin with it
	if err != nil {
		return ""
	}
	today := time.Now().UTC().Format(time.DateOnly) // what all processes have in common is for a day
	env, _ := in.runEnv(in.policy(), in.OwnDir, in.Dir.Temp())
	return runners.SHA256(runners.JSON([]any{
		snapshotFormat, string(boot), today, v.Binary, info.Size(), info.ModTime().UnixNano(), v.Merged, v.Warm, in.commandLine(), env, in.setup(), digest(bootstrapName(v)),
	}))
}

// snapshot opens the snapshot from which the process of an instance is restored, nil if there is
// none.
func (in *Instance) snapshot() *sandbox.Snapshot {
	dir := in.Variant.From
	if dir == "" {
		key := in.SnapshotKey(in.Variant)
		if key == "" {
			return nil
		}
		if dir = in.Snapshots.Find(key); dir == "" {
			return nil
		}
	}
	m, err := sandbox.OpenSnapshot(dir)
	if err != nil {
		in.notRestored(err)
		return nil
	}
	return m
}

// notRestored removes a snapshot that is of no use, for the next run to make another.
func (in *Instance) notRestored(why error) {
	in.Log.Info("Deno is started, not restored from its snapshot", zap.Error(why))
	if in.Variant.From == "" && !errors.Is(why, sandbox.ErrTaken) {
		in.Snapshots.Drop(context.Background(), in.SnapshotKey(in.Variant))
	}
}

// Restored reports whether the process of a ready instance was restored from a snapshot.
func (in *Instance) Restored() bool { return in.restored }

// restore restores the process from its snapshot, and reports whether that was possible. Arranged is
// called when the program can be put into the directory.
func (in *Instance) restore(arranged func()) bool {
	if in.Dir.Path != in.RunDirs.first().Path {
		return false
	}
	m := in.snapshot()
	if m == nil {
		return false
	}
	defer m.Close()
	defer trace.Begin("restore Deno")()
	arranged()
	var linked error
	var linking sync.WaitGroup
	linking.Go(func() { linked = in.linkAll() })
	in.OwnDir = in.Dir.denoDir()
	p, err := process.Restore(in.command(), m)
	linking.Wait()
	if err == nil && linked != nil {
		p.Kill("not ready")
		p.Wait(new(sync.WaitGroup))
		err = linked
	}
	if err != nil {
		in.notRestored(err)
		return false
	}
	in.Process, in.restored = p, true
	return true
}

// linkAll makes all of the run's directories.
func (in *Instance) linkAll() error {
	return errors.Join(in.Dir.Complete(), in.Dir.link(in.DenoDir, !in.guarded()), in.Dir.linkGen())
}

// AwaitFirst waits until the first run has given its directory back.
func (l *Launcher) AwaitFirst(ctx context.Context) {
	l.Background.Wait(ctx)
	l.Dying.Wait(ctx)
}

// SaveSnapshot writes the snapshot of an instance, whose process has run a program, into a
// directory, and ends its zygote.
func (in *Instance) SaveSnapshot(dir string) error {
	<-in.Process.End()
	in.used = true
	defer in.Discard()
	if in.zygote == nil || in.Dir.Path != in.RunDirs.first().Path {
		return errors.New("no process was forked in the directory of snapshots")
	}
	return in.zygote.Save(dir)
}

// first returns the directory that the first run has.
func (f *runDirs) first() *RunDir { return &RunDir{of: f, Path: filepath.Join(f.Path, "r0")} }
