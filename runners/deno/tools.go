package deno

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	osprocess "coderunner/internal/process"
	"coderunner/runners/deno/process"
	"coderunner/runners/toolbox"
)

// toolCalls answers what a program asks of its tools: see bootstrap/tools.js.
type toolCalls struct {
	box  *toolbox.Box
	ctx  context.Context
	room chan struct{} // a token for each query without an answer

	answering sync.WaitGroup
	writing   sync.Mutex
	pipe      *os.File
}

// maxQueries bounds the queries of a program whose answers it has not read. An honest one
// sends no more.
const maxQueries = 64

// offerTools has the program's queries answered until stop is called, if it has tools and
// imports them, or an earlier one of its session may have.
func (j *job) offerTools(ctx context.Context, in *process.Instance, load bool) (stop func()) {
	if j.calls = nil; j.req.Tools == nil || load || !j.Deps.Tools && j.req.Session == nil {
		return func() {}
	}
	_ = os.Remove(in.Dir.Tools()) // of the session's last program
	pipe, err := osprocess.OpenPipe(in.Dir.Tools())
	if err != nil || pipe == nil { // the module has no servers then
		j.leases.Log.Warn("a program has no tools, for there is no named pipe", zap.Error(err))
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	hold := func() (release func()) { return j.clock.Load().Hold() }
	c := &toolCalls{box: toolbox.New(ctx, &j.req, hold), ctx: ctx, room: make(chan struct{}, maxQueries), pipe: pipe}
	j.calls = c
	return sync.OnceFunc(func() {
		cancel()
		_ = pipe.SetWriteDeadline(time.Unix(1, 0)) // nobody reads any more
		c.answering.Wait()
		pipe.Close()
	})
}

// take answers a query. It waits while there is no room: so does the program then.
func (c *toolCalls) take(number, text string) {
	if c == nil {
		return
	}
	select {
	case c.room <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.answering.Go(func() {
		defer func() { <-c.room }()
		answer := c.box.Ask(c.ctx, []byte(text))
		c.writing.Lock()
		defer c.writing.Unlock()
		_, _ = fmt.Fprintf(c.pipe, "%08x%s %s", len(number)+1+len(answer), number, answer) // the program may have ended
	})
}
