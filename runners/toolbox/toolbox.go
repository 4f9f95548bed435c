// Package toolbox lets the guests of one run use its [runners.Tools]: programs in Python,
// JavaScript and bash, each of which sends a [Query] in JSON and gets an answer in JSON.
//
// It knows no language and no policy: who implements runners.Tools decides what may be
// called. A [Box] bounds what a program asks and gets, stops the program's clock meanwhile,
// and turns results into what programs see, in the same way for all languages:
//
//	{"parts": [PART, ...]}   of a call or of a resource that was read
//	{"value": ...}           of the other queries
//	{"error": {"code": ..., "message": ...}}
//
// A part is {"v": VALUE}, {"blob": {"data": BASE64, "mime": ...}} or {"link": {"uri": ...}}. A
// structured result is a value, and so is text: an object or a list if it is one in JSON, else
// the text itself. A number in text stays text, for it may be a version.
//
// # Limits
//
// Results may be up to 16 MiB long, and arguments as long as runners.Tools takes; 64 queries
// are answered at once, others wait, and what waits takes 64 MiB at most. The program's
// clock stands still for ten minutes in all.
//
// # Locking
//
// Box.mu is not held while anything waits.
package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"coderunner/runners"
)

// The bounds, in bytes where nothing else is said.
const (
	MaxQuery   = runners.MaxToolArguments + 16<<10
	MaxResult  = 16 << 20
	maxAtOnce  = 64
	maxWaiting = 64 << 20 // of queries
	maxQueries = 10_000   // that wait
	maxHeld    = 10 * time.Minute
	maxName    = 1000    // of names and of words to search for
	overhead   = 1 << 10 // of a query besides its arguments
)

// Query is what a program asks. Op is "servers", "list", "search", "describe", "stub", "call",
// "read" or "cancel".
type Query struct {
	Op     string          `json:"op"`
	Name   string          `json:"name,omitempty"`   // of a tool or a server; words to search for
	Ending string          `json:"ending,omitempty"` // of a stub
	URI    string          `json:"uri,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Line   int             `json:"line,omitempty"`
	Parks  bool            `json:"parks,omitempty"` // see runners.ToolCall
	Key    string          `json:"key,omitempty"`   // by which a query is cancelled

	progress func(done, total float64, message string)
}

// Box is the tools of one run. Its methods are safe for concurrent use, and so are those of nil,
// which has none.
type Box struct {
	ctx      context.Context
	tools    runners.Tools
	progress runners.ProgressFunc
	hold     func() (release func())
	room     chan struct{}
	parks    atomic.Bool // see Parks

	mu      sync.Mutex
	waiting int
	bytes   int
	left    time.Duration // for which the clock may still be held
	let     func()        // releases it; nil: it is not held
	cancels map[string]context.CancelFunc
}

// New returns the tools of a request, nil if it has none. They can be used until ctx ends. Hold
// stops the program's clock until release is called; one caller at a time has it.
func New(ctx context.Context, req *runners.Request, hold func() (release func())) *Box {
	if req.Tools == nil {
		return nil
	}
	return &Box{
		ctx: ctx, tools: req.Tools, progress: req.Progress.Serial(), hold: hold, room: make(chan struct{}, maxAtOnce),
		left: maxHeld, cancels: map[string]context.CancelFunc{},
	}
}

var errNone = &runners.ToolError{Code: "unavailable", Message: "this program has no tools: the server was started without --tools"}

// Servers returns the names of the servers.
func (b *Box) Servers() []string {
	if b == nil {
		return nil
	}
	return b.tools.Servers()
}

// Ask answers a query in JSON with an answer in JSON.
func (b *Box) Ask(ctx context.Context, text []byte) json.RawMessage {
	var q Query
	var value any
	err := json.Unmarshal(text, &q)
	if err != nil {
		err = &runners.ToolError{Code: "bad_arguments", Message: "the query cannot be read: " + err.Error()}
	} else {
		value, err = b.Do(ctx, q)
	}
	var answer struct {
		Error *runners.ToolError `json:"error,omitempty"`
		Parts []part             `json:"parts,omitzero"`
		Value any                `json:"value,omitempty"`
	}
	if r, ok := value.(*runners.ToolResult); ok && err == nil {
		server, _, _ := strings.Cut(q.Name, ".")
		answer.Parts = parts(server, r)
	} else {
		answer.Error, answer.Value = toolError(err), value
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		encoded, _ = json.Marshal(map[string]any{"error": toolError(err)})
	}
	return encoded
}

// Parks reports whether the last answer told the program to be parked.
func (b *Box) Parks() bool { return b != nil && b.parks.Load() }

// Do answers a query: with a *[runners.ToolResult], text, or a list of names or tools. The error
// is a *[runners.ToolError].
func (b *Box) Do(ctx context.Context, q Query) (value any, err error) {
	switch {
	case b == nil:
		return nil, errNone
	case q.Op == "cancel":
		b.cancel(q.Key)
		return nil, nil
	case q.Op == "servers":
		return b.tools.Servers(), nil
	case len(q.Name) > maxName || len(q.Key) > maxName:
		return nil, &runners.ToolError{Code: "not_found", Message: fmt.Sprintf("no name has more than %d bytes", maxName)}
	}
	ctx, done, err := b.begin(ctx, q)
	if err != nil {
		return nil, err
	}
	defer done()
	p := &progress{f: b.progress, tool: q.Name}
	q.progress = p.report
	value, err = ask(ctx, b.tools, q)
	p.end()
	refused := toolError(err)
	b.parks.Store(refused != nil && refused.Code == runners.Parks)
	if refused != nil {
		return nil, refused
	}
	return value, nil
}

// begin waits for room, with the clock held, until done is called.
func (b *Box) begin(ctx context.Context, q Query) (_ context.Context, done func(), err error) {
	size := len(q.Args) + len(q.URI) + overhead
	b.mu.Lock()
	if b.bytes+size > maxWaiting || b.waiting >= maxQueries {
		b.mu.Unlock()
		return nil, nil, &runners.ToolError{Code: "budget", Message: "too many calls wait at once: await some of them first"}
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.ctx, cancel)
	b.waiting++
	b.bytes += size
	if q.Key != "" {
		b.cancels[q.Key] = cancel
	}
	if b.waiting == 1 {
		b.holdLocked()
	}
	b.mu.Unlock()
	end := func() {
		stop()
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.cancels, q.Key)
		b.bytes -= size
		if b.waiting--; b.waiting == 0 && b.let != nil {
			b.let()
			b.let = nil
		}
	}
	select {
	case b.room <- struct{}{}:
		return ctx, func() { <-b.room; end() }, nil
	case <-ctx.Done():
		end()
		return nil, nil, toolError(ctx.Err())
	}
}

// holdLocked stops the clock until b.let is called, or what is left of maxHeld is used up.
func (b *Box) holdLocked() {
	if b.left <= 0 {
		return
	}
	begun, release := time.Now(), sync.OnceFunc(b.hold())
	timer := time.AfterFunc(b.left, release)
	b.let = func() {
		timer.Stop()
		release()
		b.left -= time.Since(begun)
	}
}

func (b *Box) cancel(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.cancels[key]; cancel != nil {
		cancel()
	}
}

// ask asks the tools themselves.
func ask(ctx context.Context, t runners.Tools, q Query) (any, error) {
	switch q.Op {
	case "servers":
		return t.Servers(), nil
	case "list":
		return t.List(ctx, q.Name)
	case "search":
		return t.Search(ctx, q.Name)
	case "describe":
		return t.Describe(ctx, q.Name)
	case "stub":
		return t.Stub(ctx, q.Name, q.Ending)
	case "read":
		return bounded(t.Read(ctx, q.Name, q.URI))
	case "call":
		c := runners.ToolCall{Tool: q.Name, Arguments: q.Args, Line: max(q.Line, 0), Parks: q.Parks, Progress: q.progress}
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		return bounded(t.Call(ctx, c))
	}
	return nil, &runners.ToolError{Code: "bad_arguments", Message: fmt.Sprintf("there is no query %.100q", q.Op)}
}

// progress makes what a tool reports the run's progress, until the call has ended.
type progress struct {
	f    runners.ProgressFunc
	tool string

	mu           sync.Mutex
	said, silent bool
}

func (p *progress) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		return
	}
	if !(done >= 0 && done < math.MaxInt32) || !(total >= 0 && total < math.MaxInt32) {
		done, total = 0, 0
	}
	p.said = true
	item := strings.TrimSuffix(p.tool+": "+runners.ClipLine(message, 200), ": ")
	p.f.Report(runners.Progress{Phase: "call", Item: item, Done: int64(done), Total: int64(total)})
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent = true; p.said {
		p.f.Report(runners.Progress{Phase: "run"})
	}
}

// bounded returns a result, or an error for one that a program does not get.
func bounded(r *runners.ToolResult, err error) (*runners.ToolResult, error) {
	if err != nil || r == nil {
		return &runners.ToolResult{}, err
	}
	switch size := r.Size() + len(r.Content)*overhead; {
	case size > MaxResult:
		return nil, &runners.ToolError{Code: "budget", Message: fmt.Sprintf("the result has %d MiB, and a program gets %d at most: ask for less", size>>20, MaxResult>>20)}
	case r.Structured != nil && !json.Valid(r.Structured):
		return nil, &runners.ToolError{Code: "failed", Message: "the tool's structured result is not JSON"}
	}
	return r, nil
}

// toolError returns an error as programs see it, nil for none.
func toolError(err error) *runners.ToolError {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*runners.ToolError](err)
	switch {
	case ok:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &runners.ToolError{Code: "timeout", Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return &runners.ToolError{Code: "unknown", Message: "the call was cancelled; whether the tool has done anything is not known"}
	}
	return &runners.ToolError{Code: "failed", Message: runners.Clip(err.Error(), 10_000)}
}
