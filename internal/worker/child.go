package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"coderunner/internal/netpolicy"
	"coderunner/internal/sysmem"
	"coderunner/internal/worker/wire"
	"coderunner/pyodide/linmem"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/toolbox"
	"coderunner/runners/wasi"
	"coderunner/runners/wasi/engine"
)

// Command is the hidden command of the binary that calls [Main].
const Command = "worker"

// socketFD is the descriptor of a worker's socket.
const socketFD = 3

// Main is the worker: it serves until the server closes the socket. It returns the exit code.
func Main() int {
	c, err := wire.Socket(os.NewFile(socketFD, "server"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is for coderunner itself: %v\n", Command, err)
		return 1
	}
	w := &child{}
	w.conn = wire.New(c, wire.Options{
		TakesFiles: true, EncodeError: encodeError, DecodeError: decodeError,
		Serve: func(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
			switch method {
			case callOpen:
				return nil, nil, w.open(body)
			case callTake:
				return nil, nil, w.take(ctx, body)
			case callBuild:
				b, err := w.build(ctx, body)
				return b, nil, err
			case callSources:
				return nil, nil, w.compile(ctx, body)
			}
			return nil, nil, fmt.Errorf("there is no call %d", method)
		},
		Note: func(method uint8, _ []byte, file *os.File) {
			switch {
			case file == nil:
			case method == noteRun:
				w.run(file)
			case method == notePagemap:
				linmem.UsePagemap(file)
			case method == noteOutput:
				w.output.Store(file)
			default:
				file.Close()
			}
		},
	})
	w.conn.Start()
	<-w.conn.Done()
	return 0 // the kernel frees all
}

// child is a worker as it sees itself.
type child struct {
	conn    *wire.Conn
	memory  int64
	runners map[runners.Language]runners.Runner
	python  *python.Runner
	output  atomic.Pointer[os.File] // see noteOutput

	mu    sync.Mutex  // guards what follows
	inUse int64       // limits of the runs in progress
	rest  *time.Timer // of rested
}

// open opens the runners.
func (w *child) open(body []byte) error {
	var s settings
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	for name, value := range s.Env {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	policy, err := runners.ParsePolicy(s.Permissions)
	if err != nil {
		return err
	}
	w.memory = s.Memory
	w.rest = time.AfterFunc(resting, w.rested)
	w.limit(0)
	debug.SetGCPercent(gcPercent)
	config := zap.NewProductionConfig() // to standard error, which the server logs
	config.Level.SetLevel(zap.WarnLevel)
	config.DisableStacktrace = true
	log, err := config.Build()
	if err != nil {
		return err
	}
	h := &host{own: w.conn, refusal: s.Refusal}
	guests := wasi.New(engine.New(engine.Config{Files: h, Ask: h.guest, Compile: h.compile}), s.Guests)
	p, err := python.New(python.Config{
		Guests: guests, Host: h, CacheRoot: s.CacheRoot, Offline: true, Policy: policy,
		Network: s.network(), Compile: h.compile, MaxIdle: s.Ahead, Log: log,
	})
	if err != nil {
		return err
	}
	w.python = p
	shell := NewBash(policy, p)
	w.runners = map[runners.Language]runners.Runner{runners.Python: p, runners.Bash: shell}
	for l, r := range guests.Runners(shell) {
		w.runners[l] = r
	}
	go func() { // a run waits for it if it has to
		if err := p.Warm(context.Background(), nil, nil); err != nil {
			log.Warn("prepare the runtime", zap.Error(err))
		}
	}()
	return nil
}

// gcPercent has the collector run less often than it would: programs leave a megabyte behind
// for each run, and a worker keeps little itself.
const gcPercent = 400

// The collector has between bytes more while a run follows another within resting: with as little
// as a worker may have for long, it marked all that lives after every thirtieth run.
const (
	between = 12 << 20
	resting = 700 * time.Millisecond // less than returning
)

// limit has the collector keep to what the runs in progress may use and more.
func (w *child) limit(more int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inUse += more
	limit, _ := w.own()
	debug.SetMemoryLimit(limit + max(w.inUse, between))
	if w.inUse == 0 {
		w.rest.Reset(resting)
	}
}

// own returns how much the collector keeps to when nothing runs, and how much there is a reason for.
// Beside what stays, such as the modules of languages, a quarter as much may be garbage: with less
// room the collector would mark all of it again and again.
func (w *child) own() (limit, need int64) {
	const besides = 8 << 20 // the heap
	need = max(w.memory, besides+sysmem.Live()*5/4)
	return min(need, 3*w.memory), need
}

// rested has the collector keep to the worker's own memory when no run follows, and returns to the
// system what the last ones left.
func (w *child) rested() {
	w.mu.Lock()
	idle := w.inUse == 0
	limit, need := w.own()
	if idle {
		debug.SetMemoryLimit(limit)
	}
	w.mu.Unlock()
	if idle && sysmem.Heap() > need/8*7 { // as much as there was when the collector kept to the limit throughout
		debug.FreeOSMemory()
	}
}

// brief is a time in which a run does not leave much memory behind.
const brief = 20 * time.Millisecond

// run serves a run on its socket.
func (w *child) run(socket *os.File) {
	c, err := wire.Socket(socket)
	if err != nil {
		return // the server sees that the run ends
	}
	r := &childRun{w: w}
	r.conn = wire.New(c, wire.Options{
		TakesFiles: true, EncodeError: encodeError, DecodeError: decodeError, Serve: r.serve,
		Note: func(uint8, []byte, *os.File) {},
	})
	r.conn.Start()
}

// childRun is a run as its worker sees it.
type childRun struct {
	w    *child
	conn *wire.Conn
	left atomic.Pointer[fs.FS]
	ask  atomic.Pointer[netpolicy.AskFunc] // the request's, which holds the run's clock
}

func (r *childRun) serve(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
	if method == callRun {
		var q request
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, nil, err
		}
		o, err := r.run(ctx, &q)
		return o, nil, err
	}
	if ask := r.ask.Load(); method == callHold {
		if ask != nil {
			_, _ = (*ask)(ctx, "", 0) // until the server has its answer
		}
		return nil, nil, nil
	}
	var q read
	var err error
	if method == callRead {
		err = json.Unmarshal(body, &q)
	} else {
		err = json.Unmarshal(body, &q.Name)
	}
	dir := r.left.Load()
	if err != nil || dir == nil {
		return nil, nil, errors.Join(err, fs.ErrNotExist)
	}
	result, err := leftFile(*dir, method, q)
	return result, nil, err
}

func (r *childRun) run(ctx context.Context, q *request) (*outcome, error) {
	runner := r.w.runners[q.Language]
	if runner == nil {
		return nil, fmt.Errorf("there is no runner of %s", q.Language)
	}
	r.w.limit(q.Limits.Memory)
	begun := time.Now()
	defer func() {
		r.w.limit(-q.Limits.Memory)
		if time.Since(begun) > brief && sysmem.Heap() > 2*r.w.memory {
			go r.w.rested()
		}
	}()
	ctx = context.WithValue(ctx, connKey{}, r)
	r.ask.Store(nil)
	req := q.Request
	prepared := false
	req.Progress = func(p runners.Progress) {
		if prepared = prepared || p.Phase != "run"; prepared { // else the server knows
			_ = r.conn.Note(noteProgress, p, nil)
		}
	}
	if q.Input != nil {
		req.Stdin = strings.NewReader(string(*q.Input))
	}
	said := &printed{conn: r.conn, all: q.Prints}
	defer said.end()
	req.Printed = said.add
	if q.Asks {
		req.Ask = waits
	}
	if q.Tools {
		req.Tools = toolbox.Remote(func(ctx context.Context, query toolbox.Query, result any) error {
			_, err := r.conn.Call(ctx, callTools, query, result)
			return err
		})
	}
	tell := func(*outcome) {}
	if req.Session != nil {
		req.Session.Save = q.Save
		tell = connectSession(ctx, r.conn, req.Session, func(dir fs.FS) {
			if dir == nil {
				r.left.Store(nil)
			} else {
				r.left.Store(&dir)
			}
		})
	}
	o, err := runner.Run(ctx, req)
	if err != nil {
		return nil, err
	}
	e := encodeOutcome(o)
	tell(&e)
	return &e, nil
}

// printed sends what a program prints: all of it as it comes where that is wanted, or else its
// beginning, a moment later, for the outcome of a program that is ended with its worker.
type printed struct {
	conn *wire.Conn
	all  bool

	mu    sync.Mutex
	kept  []byte
	sent  int
	timer *time.Timer // that sends what is kept, nil if nothing is
	ended bool        // the connection is another run's
}

// The bounds of what is kept, in bytes, and for how long.
const (
	maxSaid = 64 << 10
	saying  = 100 * time.Millisecond
)

func (p *printed) add(b []byte) {
	if p.all {
		_ = p.conn.Note(notePrinted, wire.Raw(b), nil)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b = b[:min(len(b), maxSaid-p.sent-len(p.kept))]
	if len(b) == 0 {
		return
	}
	if p.kept = append(p.kept, b...); p.timer == nil {
		p.timer = time.AfterFunc(saying, p.send)
	}
}

func (p *printed) send() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	_ = p.conn.Note(notePrinted, wire.Raw(p.kept), nil)
	p.sent += len(p.kept)
	p.kept, p.timer = nil, nil
}

func (p *printed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
