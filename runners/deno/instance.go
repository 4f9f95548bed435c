package deno

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/process"
	"coderunner/internal/project"
	"coderunner/runners"
	"coderunner/runners/deno/codecache"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/guard"
)

// variant is what a process is started with: the pool keeps processes per
// variant.
type variant struct {
	binary string
	memory int64 // the limit, in bytes
	ready  *prepared
	merged bool            // its stderr is its stdout
	kept   bool            // it runs the programs of a session, one after another
	making bool            // it loads packages to fill their databases
	narrow bool            // its only permissions are for what it loads
	layout *project.Layout // whose grants it has; nil: there is none
	asks   bool            // Deno allows all of the network, and the guard decides
}

// variantKey returns a key of the variant and of the environment of its processes,
// "" if there is no Deno at its path.
func (l *launcher) variantKey(v variant) string {
	info, err := os.Stat(v.binary)
	if err != nil {
		return ""
	}
	env, _ := l.runEnv(l.cfg.Policy, "", "")
	return fmt.Sprint(v.binary, info.Size(), info.ModTime().UnixNano(), v.memory, v.ready.dir, v.ready.locked, v.ready.npm, v.ready.remote, v.merged, v.kept, v.asks, v.layout.Key(), env)
}

// policy returns what the process may touch. A process that runs no program may
// touch only what loading needs.
func (in *instance) policy() runners.Policy {
	if in.variant.making || in.variant.narrow {
		return runners.Policy{}
	}
	p := in.cfg.Policy
	if in.variant.asks {
		p = asking(p)
	}
	if read := in.variant.layout.Grants(); len(read) > 0 && !p.Read.All && !p.DenyRead.All {
		p.Read.List = slices.Concat(p.Read.List, read)
	}
	return p
}

// launcher starts processes.
type launcher struct {
	*tool
	runDirs *runDirs
	store   *codecache.Store

	background sync.WaitGroup // work that runs leave behind

	warnOnce sync.Once // for the warning that memory cannot be limited
}

// instance is a Deno process with its own directory. It is started before its run
// or for it, waits for its orders, and is used once, or by one session.
// The caller that leases it
// calls discard, or passes it to job.command and then calls leave.
type instance struct {
	*launcher
	variant variant
	key     string    // the pool's, "" if it is not pooled
	begun   time.Time // when it was launched
	dir     *runDir

	ownDir string // its DENO_DIR
	coded  bool   // it has databases of V8's code, or fills them
	cold   bool   // it has packages and no databases that were made for them

	started chan struct{} // closed when it is ready, or has failed
	// The rest is set before started is closed.
	err     error             // why it failed
	p       *process.Process  // nil if there is none
	before  process.Usage     // what it has used so far
	workers bool              // a program of its session may have started Workers
	guard   guard.Guard       // of its sockets
	orders  *os.File          // where a session's process gets its orders
	scripts map[string]script // that it has run in its session
	drip    *drip             // of its program's input, nil if that is not peeked at
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

// lastLines returns the last lines of text, after a colon.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text[max(0, len(text)-4096):]), "\n")
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ": " + deps.Shorten(strings.ToValidUTF8(strings.Join(lines, " | "), ""), 600)
}

// codeKey returns a digest of the databases' inputs, "" if there are no packages. V8
// rejects code that was compiled under another heap limit.
func (l *launcher) codeKey(v variant) string {
	if !v.ready.npm && !v.ready.remote {
		return ""
	}
	b, err := json.Marshal([]any{1, l.version, l.denoDir, heapFlag(v.memory), v.ready.set})
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// databases returns the directory with the databases for a variant, "" if there are
// none.
func (l *launcher) databases(v variant) string {
	if key := l.codeKey(v); key != "" {
		return l.store.Find(key)
	}
	return ""
}
