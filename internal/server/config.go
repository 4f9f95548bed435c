package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"

	"go.uber.org/zap"

	"coderunner/internal/server/queue"
	"coderunner/internal/session"
	"coderunner/internal/tools"
	"coderunner/runners"
)

// Config is what a server needs. The runners stay the caller's to close.
type Config struct {
	Name, Version string
	// Runners has a runner for each language that is offered.
	Runners     map[runners.Language]runners.Runner
	Hosted      []runners.Language // those of the Runners whose interpreter is the host's
	Limits      runners.Limits     // of a call that names none
	Concurrency int                // programs at once; 0: queue.DefaultPlaces
	Policy      runners.Policy
	Offline     bool
	// Isolation is how well JavaScript programs are confined by the system:
	// "full", "partial" or "none"; "" is not told.
	Isolation  string
	Structured Structured // "": StructuredAuto
	// Ask lets users be asked, by clients that can, about hosts that Policy does not have.
	Ask bool
	// Tools has the tools of other servers that programs may call; nil: none.
	Tools *tools.Set
	// SearchTools offers search_tools, by which clients find these without a program.
	SearchTools bool
	// Sessions keeps the sessions; nil: none are offered.
	Sessions *session.Store
	// Packages lists the packages in the cache by language, those that were used last
	// first; nil: only those that this server's runs had are listed.
	Packages func(context.Context) (map[string][]string, error)
	// Compiled lists the Python packages with machine code in the cache, those that
	// were used last first; Missing those that cannot be installed, those that most
	// others need first. Nil: none are named.
	Compiled, Missing func(context.Context) []string
	Log               *zap.Logger // nil: nothing is logged

	// What follows is for servers that share a process, one for each client.
	Client     string       // its name
	Queue      *queue.Queue // nil: one of its own, with Concurrency places
	Kept       *Kept        // nil: one of its own
	SessionKey []byte       // of the ids of HTTP sessions, which any server with the key takes; nil: one of its own
	// Observe, if not nil, is told of each run: when it gets into the queue, and,
	// by what it returns, when it begins and when it ends.
	Observe func(context.Context, runners.Request, string) Observer
}

// Observer follows one run.
type Observer interface {
	Begun()
	Progress(runners.Progress)
	// Call is for a call of another server's tool; ended takes "ok" or the code of the error.
	Call(server, tool string) (ended func(status string))
	Ended(*runners.Outcome, error)
}

// Structured is whether clients get structured content and its schema.
type Structured string

// The settings.
const (
	StructuredAuto   Structured = "auto" // not the clients that then drop the content blocks
	StructuredAlways Structured = "always"
	StructuredNever  Structured = "never"
)

// languages are those that the tool's description names, in this order.
// jsx and tsx, and many aliases, are taken besides.
var languages = []runners.Language{runners.Python, runners.TypeScript, runners.JavaScript, runners.Bash}

// names returns the names of the languages that have a runner, those of the host
// last.
func names(m map[runners.Language]runners.Runner) []string {
	all := append(offered(m, languages), offered(m, runners.GuestLanguages)...)
	for _, l := range offered(m, runners.HostLanguages) {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// offered returns those of a list of languages that have a runner.
func offered(m map[runners.Language]runners.Runner, list []runners.Language) (out []string) {
	for _, l := range list {
		if m[l] != nil {
			out = append(out, string(l))
		}
	}
	return out
}

// withDefaults returns the configuration with what may be absent.
func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, zap.NewNop())
	c.Limits = c.Limits.WithDefaults()
	if c.Concurrency <= 0 {
		c.Concurrency = queue.DefaultPlaces(c.Limits.Memory)
	}
	if c.Queue == nil {
		c.Queue = queue.New(c.Concurrency, false)
	}
	c.Kept = cmp.Or(c.Kept, &Kept{})
	if len(c.SessionKey) == 0 {
		c.SessionKey = []byte(rand.Text())
	}
	return c
}
