// Package process starts the Deno processes that run programs, and keeps some idle.
//
// A process is started for a set of packages, a limit of memory and an environment (a
// [Variant]), with Deno's arguments of commandline.go and permissions.go, in a directory of
// its own and confined by the kernel. The bootstrap is its main module: it makes the realm
// what programs expect, by the [Packages] and the policy, reports that it is ready and waits
// for a task, which package deno sends. So all that does not depend on the program is done
// before there is one, and for programs without packages once for many: zygote.go.
//
// # Locking
//
// RunDirs and the pool have a mutex; only the one of Leases.variants is taken under another,
// the pool's, and none is held while anything waits.
package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"coderunner/internal/inflight"
	"coderunner/internal/netpolicy"
	"coderunner/internal/process"
	"coderunner/internal/project"
	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/guard"
)

// Variant is what a process is started with: the pool keeps processes per
// variant.
type Variant struct {
	Binary  string
	Memory  int64 // the limit, in bytes
	Ready   *Packages
	Merged  bool            // its stderr is its stdout
	Session bool            // it runs the programs of a session, one after another
	Making  bool            // it loads packages to fill their databases
	Narrow  bool            // its only permissions are for what it loads
	Layout  *project.Layout // whose grants it has; nil: there is none
	Asks    bool            // Deno allows all of the network, and the guard decides
	Early   *Early          // what it loads before there is a program; nil: nothing
	Warm    bool            // its zygote loads what Deno loads when something first uses it
	Keeps   bool            // its zygote is for a snapshot
	From    string          // the directory of a snapshot from which its process is restored on trial
}

// variantKey returns a key of the variant and of the environment of its processes,
// "" if there is no Deno at its path.
func (l *Launcher) variantKey(v Variant) string {
	info, err := os.Stat(v.Binary)
	if err != nil {
		return ""
	}
	env, _ := l.runEnv(l.Config.Policy, "", "")
	return fmt.Sprint(v.Binary, info.Size(), info.ModTime().UnixNano(), v.Memory, v.Ready.Dir, v.Ready.Locked, v.Ready.NPM, v.Ready.Remote, v.Merged, v.Session, v.Asks, v.Layout.Key(), v.Early.key(), v.Warm, env)
}

// policy returns what the process may touch. A process that runs no program may
// touch only what loading needs.
func (in *Instance) policy() runners.Policy {
	if in.Variant.Making || in.Variant.Narrow {
		return runners.Policy{}
	}
	p := in.Config.Policy
	if in.Variant.Asks {
		p = asking(p)
	}
	if read := in.Variant.Layout.Grants(); len(read) > 0 && !p.Read.All && !p.DenyRead.All {
		p.Read.List = slices.Concat(p.Read.List, read)
	}
	return p
}

// allowed returns what Deno allows the process until it is ready.
func (in *Instance) allowed() runners.Policy {
	if in.Variant.Session {
		return withInspector(in.policy())
	}
	return in.policy()
}

// Launcher starts processes.
type Launcher struct {
	*Tool
	RunDirs   *runDirs
	Store     *codecache.Store
	Snapshots *codecache.Store // of snapshots

	Background inflight.Group // work that runs leave behind
	Dying      inflight.Group // what waits for killed processes where this one need not

	warnOnce sync.Once   // for the warning that memory cannot be limited
	unforked atomic.Bool // no process could be forked

	verdicts recent.Map[string, verdict] // on loading packages early, by earlyKey
}

// Instance is a Deno process with its own directory. It is started before its run
// or for it, waits for its orders, and is used once, or by one session.
// The caller that leases it
// calls discard, or passes it to job.command and then calls leave.
type Instance struct {
	*Launcher
	Variant  Variant
	Key      string    // the pool's, "" if it is not pooled
	home     *Leases   // to which it is put back with its zygote; nil: it has none
	Launched time.Time // when it was launched
	Dir      *RunDir

	OwnDir string // its DENO_DIR
	code   string // the directory of its databases, or of those that it fills; "": there is none, or it is the shared DENO_DIR

	arranged chan struct{} // closed when Dir is there to be filled, or the start has failed
	started  chan struct{} // closed when it is ready, or has failed
	// The rest is set before started is closed.
	err      error            // why it failed
	Process  *process.Process // nil if there is none
	zygote   *zygote          // what the process is a fork of; nil: there is none
	restored bool             // it is restored from a snapshot
	Before   process.Usage    // what it has used so far
	found    findings         // about its early packages
	Workers  bool             // a program of its session may have started Workers
	Guard    guard.Guard      // of its sockets
	Orders   *os.File         // where a session's process gets its orders
	used     bool             // its process has run its program, and has ended

	Interceptor netpolicy.Interceptor // of its connections, whose placeholders it has; nil: none
}

// Await waits until the instance is ready. Meanwhile fill puts a program into its directory,
// which Deno does not look at before its task; early packages are loaded before. Await returns
// the context's cause if ctx ends first.
func (in *Instance) Await(ctx context.Context, fill func(*RunDir) error) error {
	var failure error
	for _, event := range []chan struct{}{in.arranged, in.started} {
		select {
		case <-event:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if event == in.arranged && in.Dir != nil {
			failure = fill(in.Dir)
		}
	}
	return cmp.Or(in.err, failure)
}

// ready reports whether the start has finished, with success or not.
func (in *Instance) ready() bool {
	select {
	case <-in.started:
		return true
	default:
		return false
	}
}

// Alive reports whether a started instance can still take orders.
func (in *Instance) Alive() bool { return in.err == nil && !in.Process.Exited() }

// LastLines returns the last lines of text, after a colon.
func LastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text[max(0, len(text)-4096):]), "\n")
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ": " + deps.Shorten(strings.ToValidUTF8(strings.Join(lines, " | "), ""), 600)
}

// CodeKey returns a digest of the databases' inputs, "" if there are no packages. V8 rejects code
// that was compiled under another heap limit.
func (l *Launcher) CodeKey(v Variant) string {
	if !v.Ready.NPM && !v.Ready.Remote {
		return ""
	}
	return runners.SHA256(runners.JSON([]any{3, l.Version, l.DenoDir, heapFlag(v.Memory), v.Ready.Set}))
}

// Databases returns the directory with the databases for a variant, "" if there are
// none.
func (l *Launcher) Databases(v Variant) string {
	if key := l.CodeKey(v); key != "" {
		return l.Store.Find(key)
	}
	return ""
}

// Usage returns what the process has used since it was ready.
func (in *Instance) Usage() runners.Usage {
	u := in.Process.Usage()
	return runners.Usage{
		CPUMS:           max(u.CPU-in.Before.CPU, 0).Milliseconds(),
		PeakMemoryBytes: max(u.Peak, in.Before.Peak),
	}
}
