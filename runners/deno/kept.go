package deno

import (
	"context"
	"sync"

	"coderunner/internal/pool"
	osprocess "coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
)

// maxKept bounds the processes kept for sessions. An idle one is stopped, and ends
// after idleLimit.
const maxKept = 8

// stopIdle is why an idle process is killed.
const stopIdle osprocess.Stop = "not used"

// kept is the process of a session, and what it has run.
type kept struct {
	*process.Instance
	key     string // Session.Key
	calls   int    // programs that it has run
	scripts map[string]stacktrace.Script
	names   map[string]int // how often a program had a name
	state   string         // Session.After of the last program
	earlier []earlier
	unsaved string // why these cannot be run again, "" if they can
	files   []runners.SessionFile
	release func() // its hold on the cache
}

// newSessions returns where the processes of sessions wait for their next program, by
// the session's key.
func newSessions() *pool.Pool[string, *kept] {
	return pool.New(pool.Options[string, *kept]{
		New:     func(context.Context, string) (*kept, error) { return nil, nil },
		Reset:   func(k *kept) (*kept, error) { return k, nil },
		Close:   (*kept).close,
		MaxUsed: maxKept, MaxIdleTime: process.IdleLimit,
	})
}

// close ends the process, which is paused or has ended or has run no program, in the
// background.
func (k *kept) close() {
	if k.calls == 0 { // nothing waits for its end
		k.Discard()
		k.release()
		return
	}
	k.Background.Go(func() {
		k.Process.Kill(stopIdle)
		<-k.Process.End()
		k.Process.Collect(new(sync.WaitGroup))
		k.Clear()
		k.release()
	})
}

// arrangeFiles makes the working directory of the stopped process have the session's
// files, and then the request's. The directory is the program's: it may have links
// anywhere.
func (k *kept) arrangeFiles(want []runners.SessionFile, more []runners.File) error {
	root := k.Dir.Open()
	if root == nil {
		return process.ErrReplaced
	}
	defer root.Close()
	d := runners.Directory{Root: root}
	if err := d.Arrange(k.files, want); err != nil {
		return err
	}
	if err := d.Write(more...); err != nil {
		return err
	}
	k.files = want
	return nil
}
