package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/internal/worker/wire"
)

// worker is a process and what the server knows of it. What is below mu is the pool's.
type worker struct {
	p    *Pool
	proc *process.Process
	conn *wire.Conn
	dir  string // in is what it may read, out what it may write

	busy   chan struct{} // tells watch that it runs something
	lines  chan *line    // of runs that have ended, for the next ones
	ctx    context.Context
	cancel context.CancelFunc // when the process has ended
	died   chan struct{}      // closed then, when nothing is served on conn any more
	reason string             // why the server ended it, "" if it did not; set before died is closed
	stderr tail

	job atomic.Pointer[job] // nil: it runs no code of packages

	prepared sync.Map // NAME==VERSION of the packages that its runs were given

	client  string // "": none yet
	runs    map[*served]bool
	begun   int // runs so far
	retired bool
	gone    bool      // the process has ended
	has     int64     // bytes, when it was looked at last
	overrun int64     // bytes that runs which did not stop may still have
	idle    time.Time // since when it runs nothing
}

// ownMemory is what a worker takes besides its runs, in bytes, most of it garbage.
const ownMemory = 44 << 20

// startLimit bounds the time in which a worker must be ready, on a busy machine.
const startLimit = time.Minute

// start starts a worker and waits until it is ready.
func start(ctx context.Context, p *Pool) (_ *worker, err error) {
	o := &p.o
	w := &worker{p: p, died: make(chan struct{}), busy: make(chan struct{}, 1), lines: make(chan *line, maxLines), runs: map[*served]bool{}, idle: time.Now()}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	if w.dir, err = o.Cache.TempDir("worker-"); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	// What is not there cannot be shown later: an empty cache has no sections yet.
	for _, name := range []string{w.shown(), w.written(), o.Cache.Path(cache.Trees), o.Cache.Path(cache.Files)} {
		if err = os.MkdirAll(name, 0o700); err != nil {
			break
		}
	}
	ours, theirs, perr := wire.Pair()
	if err = errors.Join(err, perr); err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), os.RemoveAll(w.dir))
	}
	w.proc, err = process.Start(process.Command{
		Path: o.Binary, Args: []string{Command}, Name: os.Args[0], Dir: w.dir, Env: w.environment(), Spec: w.spec(), Files: []*os.File{theirs},
	})
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), os.RemoveAll(w.dir))
	}
	w.proc.Bound()
	w.proc.Stdin.Close()
	w.conn = wire.New(ours, wire.Options{Serve: w.serve, EncodeError: encodeError, DecodeError: decodeError})
	w.conn.Start()
	go w.reap()
	go w.watch()
	if f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", w.proc.Pid())); err == nil { // else it finds out what was written another way
		_ = w.conn.Note(notePagemap, nil, f)
		f.Close()
	}
	s := o.settings()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if _, err := w.conn.Call(ctx, callOpen, s, nil); err != nil {
		w.end("")
		<-w.died
		return nil, fmt.Errorf("start a worker: %w%s", err, w.stderr.said())
	}
	w.has = w.proc.Resident()
	return w, nil
}

// shown is the directory of what the server shows to the worker, written of what it writes.
func (w *worker) shown() string   { return filepath.Join(w.dir, "in") }
func (w *worker) written() string { return filepath.Join(w.dir, "out") }

// environment has nothing of the server's but the time zone, which snapshots depend on.
func (w *worker) environment() []string {
	env := []string{"TMPDIR=" + w.written(), "GOTRACEBACK=single"}
	if zone, ok := os.LookupEnv("TZ"); ok {
		env = append(env, "TZ="+zone)
	}
	return env
}

// spec is what a worker may touch: of the cache the files of the runtime and of packages, by
// names that only those know who know their contents' digests, the directories that the policy lets programs have, and its own.
func (w *worker) spec() *sandbox.Spec {
	s := &sandbox.Spec{
		Execute: []string{w.p.o.Binary}, Read: []string{w.shown()}, Write: []string{w.written()}, SharedMemory: true, OnlyGo: true,
		Attributes: w.p.o.Policy.Write.Any(),
	}
	for _, section := range []string{cache.Trees, cache.Files} {
		s.Files = append(s.Files, w.p.o.Cache.Path(section))
	}
	if w.p.o.Policy.Read.All {
		s.Read = append(s.Read, string(filepath.Separator))
	}
	s.Read = append(s.Read, w.p.o.Policy.Read.List...)
	if w.p.o.Policy.Write.All {
		s.Write = append(s.Write, string(filepath.Separator))
	}
	for _, name := range w.p.o.Policy.Write.List {
		if _, err := os.Stat(name); err != nil {
			name = filepath.Dir(name) // programs may make it
		}
		s.Write = append(s.Write, name)
	}
	return s
}

// serve answers what the worker asks for outside of runs: parts of the runtime, and what the
// code of packages needs, if it is there for that.
func (w *worker) serve(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
	j := w.job.Load()
	if j != nil && (*j)[method] != nil {
		result, err := (*j)[method](ctx, body)
		return result, nil, err
	}
	ofRuntime := method == callFind || method == callBase || method == callRuntime
	ofPackages := j != nil && (method == callLibrary || method == callCompile || method == callPart)
	if !ofRuntime && !ofPackages {
		return nil, nil, fmt.Errorf("there is no call %d", method)
	}
	s := &served{w: w, ctx: ctx}
	return s.serve(ctx, method, body)
}

// end ends the process. The first reason counts.
func (w *worker) end(reason string) {
	w.stderr.mu.Lock()
	if w.reason == "" {
		w.reason = reason
	}
	w.stderr.mu.Unlock()
	w.proc.Kill(process.StopContext)
}

// why returns why the server ended the process, "" if it did not.
func (w *worker) why() string {
	w.stderr.mu.Lock()
	defer w.stderr.mu.Unlock()
	return w.reason
}

// reap waits for the end of the process and logs what it says.
func (w *worker) reap() {
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = io.Copy(io.Discard, w.proc.Stdout) })
	readers.Go(func() {
		lines := bufio.NewScanner(w.proc.Stderr)
		for lines.Scan() {
			w.stderr.add(lines.Text())
		}
		_, _ = io.Copy(io.Discard, w.proc.Stderr) // after a line that is too long
	})
	go func() { // a worker that closes its socket has nothing left to do
		<-w.conn.Done()
		w.proc.Kill(process.StopContext)
	}()
	w.proc.Wait(&readers)
	w.cancel()
	w.conn.Close()
	if said := w.stderr.said(); said != "" && w.why() == "" {
		w.p.o.Log.Warn("a worker ended", zap.String("said", said))
	}
	if w.p.gone(w) { // else its last run removes it, which may have saved a session there
		w.remove()
	}
	close(w.died)
}

// remove removes what is left of a process that has ended.
func (w *worker) remove() {
	if err := os.RemoveAll(w.dir); err != nil {
		w.p.o.Log.Warn("remove a worker's directory", zap.Error(err))
	}
}

// tail keeps the last lines that a worker writes to standard error.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	const most = 20
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line[:min(len(line), 300)]); len(t.lines) > most {
		t.lines = t.lines[1:]
	}
}

func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
