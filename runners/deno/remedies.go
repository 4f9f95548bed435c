package deno

import (
	"context"
	"slices"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
)

// remedy is a way to load a program after Deno could not load it, so that nothing of it
// has run.
type remedy struct {
	name string // in the log
	// want reports whether it may help, by the outcome of loading.
	want func(j *job, o *runners.Outcome) bool
	// change changes the job. The error may be a *runners.NotInstalledError.
	change func(ctx context.Context, r *Runner, j *job, o *runners.Outcome) error
}

// remedies are tried in this order, each as long as it is wanted. What can be decided from
// the program and its packages is decided before (packages program and exports).
var remedies = []remedy{
	// import { atom } from "jotai": what it exports needs react, which jotai lists as
	// optional. TestUnlistedPeer.
	{"install an optional peer", (*job).lacksPeer, func(ctx context.Context, r *Runner, j *job, o *runners.Outcome) error {
		r.installer.Peers.Put(j.asked, append(slices.Clip(j.peers), deps.Unlisted(o.Error.Message)))
		return r.install(ctx, j)
	}},
	// f(1: Deno's message should be about the user's own text. TestSyntaxErrors.
	{"leave the text as it is", func(j *job, _ *runners.Outcome) bool { return j.Program.Valueless() != nil }, func(_ context.Context, _ *Runner, j *job, _ *runners.Outcome) error {
		j.Program = j.Program.Valueless()
		return nil
	}},
}

// remedy returns the first remedy for a program that could not be loaded, nil if there is
// none or it may have run.
func (j *job) remedy(ctx context.Context, end *ending.Ending, o *runners.Outcome) *remedy {
	if o.Status != runners.Failed || o.Error == nil || !end.ClaimsUnloaded() {
		return nil
	}
	at := slices.IndexFunc(remedies, func(m remedy) bool { return m.want(j, o) })
	if at < 0 || !j.unloadable(ctx) {
		return nil
	}
	return &remedies[at]
}

// unloadable reports whether the program cannot be loaded. The claim of the process that
// ran it is untrusted, so it is loaded again in one that evaluates nothing.
func (j *job) unloadable(ctx context.Context) bool {
	again, err := j.execute(ctx, true)
	return err == nil && again.ClaimsUnloaded()
}

// maxPeers bounds the packages that are installed because others of a program turned
// out to import them.
const maxPeers = 4

// lacksPeer reports whether a package imports another one that neither it nor the program
// names, such as react of a library that has parts for React.
func (j *job) lacksPeer(o *runners.Outcome) bool {
	name := deps.Unlisted(o.Error.Message)
	return name != "" && len(j.peers) < maxPeers && !j.req.Locked && !slices.Contains(j.peers, name) // else it could not be installed
}
