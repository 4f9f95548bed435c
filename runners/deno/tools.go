package deno

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"go.uber.org/zap"

	osprocess "coderunner/internal/process"
	"coderunner/runners/deno/process"
	"coderunner/runners/toolbox"
)

// toolCalls answers what a program asks of its tools: see bootstrap/tools.js and paths.js.
type toolCalls struct {
	box  *toolbox.Box
	ctx  context.Context
	room chan struct{} // a token for each query without an answer
	dir  *process.RunDir
	log  *zap.Logger

	answering sync.WaitGroup
	writing   sync.Mutex
	pipe      *os.File // for answers
	files     sync.Mutex
	written   *os.File // a pipe, for a byte for each file
}

// maxQueries bounds the queries of a program whose answers it has not read. An honest one
// sends no more.
const maxQueries = 64

// offerTools has the program's queries answered until stop is called, if it has tools.
func (j *job) offerTools(ctx context.Context, in *process.Instance, load bool) (stop func()) {
	if j.calls = nil; j.req.Tools == nil || load {
		return func() {}
	}
	for _, name := range []string{in.Dir.Answers(), in.Dir.Written(), in.Dir.Tools()} {
		_ = os.RemoveAll(name) // of the session's last program
	}
	c := &toolCalls{room: make(chan struct{}, maxQueries), dir: in.Dir, log: j.leases.Log}
	var err error
	if c.pipe, err = osprocess.OpenPipe(in.Dir.Answers()); err == nil && c.pipe != nil {
		c.written, err = osprocess.OpenPipe(in.Dir.Written())
	}
	if err != nil || c.pipe == nil { // the module has no servers then
		c.pipe.Close() // a nil file returns an error, ignored
		j.leases.Log.Warn("a program has no tools, for there is no named pipe", zap.Error(err))
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.ctx = ctx
	c.box = toolbox.New(ctx, &j.req, func() (release func()) { return j.clock.Load().Hold() })
	j.calls = c
	return sync.OnceFunc(func() {
		cancel()
		_ = c.pipe.SetWriteDeadline(time.Unix(1, 0)) // nobody reads any more
		c.answering.Wait()
		c.pipe.Close()
		c.written.Close()
	})
}

// take answers a query, or writes a file that has no number: an honest program waits for that
// and does nothing else. It waits while there is no room: so does the program then.
func (c *toolCalls) take(number, text string) {
	if c == nil {
		return
	}
	if number == "" {
		c.files.Lock()
		c.answering.Go(func() {
			defer c.files.Unlock()
			c.write(text)
			_, _ = c.written.Write([]byte{0}) // the program may have ended
		})
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

// write writes a file of /tools, or for "" the directory, with files that are empty until they
// are named. A program may have put something else in its place, so no link is followed.
func (c *toolCalls) write(name string) {
	root, err := os.OpenRoot(c.dir.Path)
	if err != nil {
		return
	}
	defer root.Close()
	texts := map[string][]byte{}
	declarations := toolbox.Files(func() *toolbox.Box { return c.box })
	if name != "" {
		if texts[name], err = fs.ReadFile(declarations, name); err != nil {
			return // there is none of that name
		}
	} else if err = root.Mkdir(process.ToolsName, 0o700); err == nil {
		list, _ := fs.ReadDir(declarations, ".") // it never fails
		for _, each := range list {
			texts[each.Name()] = nil
		}
	}
	for name, text := range texts {
		err = errors.Join(err, root.WriteFile(path.Join(process.ToolsName, name), text, 0o600))
	}
	if err != nil {
		c.log.Warn("the declarations of tools are not written", zap.Error(err))
	}
}
