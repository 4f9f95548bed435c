package process

import (
	"coderunner/cache"
	"coderunner/internal/netpolicy"
	"coderunner/runners"

	"go.uber.org/zap"
)

// Config configures a [Runner].
type Config struct {
	// Cache is where Deno and packages are kept. The caller closes it, after
	// the Runner.
	Cache *cache.Cache

	// Policy is what programs may touch.
	Policy runners.Policy

	// Network is what the network of programs is made of, besides the policy.
	Network netpolicy.Options

	// Binary is a Deno to use instead of the pinned one: a path, or a name
	// that is looked up. "" is the pinned one.
	Binary string

	// NPMRegistry and JSRURL replace the public registries if not "".
	NPMRegistry, JSRURL string

	// Offline forbids fetching anything.
	Offline bool

	// Env has the variables for the network: proxies and certificates. The trusted
	// phase gets them, and programs that may use the network do, except proxies
	// with a password.
	Env map[string]string

	// Ahead is the most idle processes that are kept, of about 10 MiB each, and more with
	// packages: as many as calls came too fast for. 0 is none, which is right for one run.
	Ahead int

	// Leaving reports that this process ends when the Runner is closed. Close then does not wait
	// until processes have ended that were killed, and processes are restored from snapshots.
	Leaving bool

	// Portable reports that the cache is for other machines: nothing goes into it that is not
	// the same on all of them, or that they should not share.
	Portable bool

	// Memory is the limit that requests will probably have, in bytes. Warm starts
	// an idle process for it. 0 is the default limit.
	Memory int64

	// Log gets the errors of this package. nil is none.
	Log *zap.Logger
}
