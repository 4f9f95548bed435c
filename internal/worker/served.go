package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"coderunner/cache"
	"coderunner/internal/machine/netstack"
	"coderunner/internal/netpolicy"
	"coderunner/internal/order"
	"coderunner/internal/worker/wire"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
	"coderunner/runners/toolbox"
)

// served is a run as the server sees it: what it does for the worker.
type served struct {
	w       *worker
	conn    *wire.Conn
	req     runners.Request
	network *netpolicy.Run
	ctx     context.Context // holds the entries of the cache that the run uses
	clock   *runners.Clock
	tools   *toolbox.Box
	dir     string // of the session, in the worker's directory

	mu       sync.Mutex
	packages map[string]resolver.Package // that were prepared, by tree
	left     *runners.Left
	small    map[string][]byte // what the session is to save without files, by its names

	compiling time.Duration // what programs bring, so far
	imports   bool          // packages were compiled for what it imports
	wanted    []snapshot    // those that it has asked for, at most maxWanted

	ports    map[int]any // net.Listener or netstack.PacketConn; nil when it has ended
	lastPort int

	relaying context.Context // of connections
	hangUps  context.CancelFunc
	relays   sync.WaitGroup

	begun time.Time
	said  *runners.Capture // what it has printed on both streams, as far as that was sent

	// What is below is guarded by the pool's mu.
	over      bool           // it has ended
	abandoned runners.Status // "": it was not
	before    int64          // bytes that the worker had when it began
	peak      int64          // bytes more that it had since, at most
}

// serve answers a call of the worker.
func (s *served) serve(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
	h := handlers[method]
	if h == nil {
		return nil, nil, fmt.Errorf("there is no call %d", method)
	}
	return h(s, ctx, body)
}

// handler answers one kind of call.
type handler func(s *served, ctx context.Context, body []byte) (any, *os.File, error)

// handlers are what a worker may call.
var handlers = map[uint8]handler{
	callFind: data((*served).find),
	callRuntime: data(func(s *served, ctx context.Context, _ struct{}) (string, error) {
		return s.w.p.o.Local.Runtime(ctx, nil)
	}),
	callGuest:    data((*served).guest),
	callPrepare:  data((*served).prepare),
	callLibrary:  data((*served).library),
	callCompile:  data((*served).compile),
	callPart:     data((*served).part),
	callSnapshot: data((*served).snapshot),
	callModules:  data((*served).modules),
	callIndexed: data(func(s *served, ctx context.Context, project string) (bool, error) {
		return s.w.p.o.Local.Indexed(ctx, project), nil
	}),
	callBase: data(func(s *served, ctx context.Context, _ struct{}) (string, error) {
		return s.w.p.o.Local.BaseUnreachable(ctx), nil
	}),
	callIntercept: data((*served).intercept),
	callLookup: data(func(s *served, ctx context.Context, host string) ([]netip.Addr, error) {
		return s.network.Lookup(ctx, host)
	}),
	callAvoided: data(func(s *served, _ context.Context, to string) (string, error) { return s.network.Avoided(to), nil }),
	callAdmit:   data((*served).admit),
	callMayListen: data(func(s *served, _ context.Context, addr netip.AddrPort) (bool, error) {
		return s.network.MayListen(addr), nil
	}),
	callDial:         file((*served).dial),
	callListen:       data((*served).listen),
	callAccept:       file((*served).accept),
	callListenPacket: data((*served).listenPacket),
	callCheck:        onPort(func(c netstack.PacketConn, d datagram) (any, error) { return nil, c.Check(d.Addr) }),
	callSend:         onPort(func(c netstack.PacketConn, d datagram) (int, error) { return c.WriteTo(d.Data, d.Addr) }),
	callReceive:      onPort(receive),
	callHangUp:       data((*served).hangUp),
	callSaved:        inSession((*served).savedFiles),
	callFile:         file((*served).file),
	callLink:         inSession((*served).link),
	callKeep:         inSession((*served).keep),
	callLeave:        inSession((*served).leave),
	callTools:        data(func(s *served, ctx context.Context, q toolbox.Query) (any, error) { return s.tools.Do(ctx, q) }),
}

// data makes a handler of a function that returns data.
func data[A, R any](f func(s *served, ctx context.Context, argument A) (R, error)) handler {
	return file(func(s *served, ctx context.Context, argument A) (R, *os.File, error) {
		result, err := f(s, ctx, argument)
		return result, nil, err
	})
}

// file makes a handler of a function that returns an open file besides.
func file[A, R any](f func(s *served, ctx context.Context, argument A) (R, *os.File, error)) handler {
	return func(s *served, ctx context.Context, body []byte) (any, *os.File, error) {
		var argument A
		if err := json.Unmarshal(body, &argument); err != nil {
			return nil, nil, fmt.Errorf("read a call: %w", err)
		}
		return f(s, ctx, argument)
	}
}

// hold has entries of the cache stay for the run.
func (s *served) hold(ctx context.Context) (context.Context, context.CancelFunc) {
	held, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	return held, func() { stop(); cancel() }
}

func (s *served) find(ctx context.Context, q find) (string, error) {
	section := cache.Files
	if q.Dir {
		section = cache.Trees
	}
	if strings.Trim(q.Kind, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return "", fmt.Errorf("the cache has no kind %.50q", q.Kind)
	}
	held, cancel := s.hold(ctx)
	defer cancel()
	path, ok := s.w.p.o.Cache.Find(held, section, q.Kind, q.Key)
	if !ok {
		return "", pyodide.ErrNotPrepared
	}
	return path, nil
}

// prepare prepares packages. The program's time limit stands still.
func (s *served) prepare(ctx context.Context, q resolver.Request) (*resolver.Set, error) {
	defer s.clock.Hold()()
	held, cancel := s.hold(ctx)
	defer cancel()
	if s.req.Locked && q.Locked == nil {
		return nil, errors.New("the program is locked")
	}
	q.Progress = s.req.Progress
	set, err := s.w.p.o.Local.Prepare(held, q)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range set.Packages {
		s.packages[p.Tree] = p
		s.w.prepared.Store(p.Name+"=="+p.Version, true)
	}
	return set, nil
}

func (s *served) library(ctx context.Context, l library) (any, error) {
	defer s.holdCompiling()()
	held, cancel := s.hold(ctx)
	defer cancel()
	return nil, s.w.p.o.Local.Library(held, l.Name, l.Bytes)
}

// compile compiles a library that the program brings: for the worker alone, which gets back
// what a process of its own has made of it.
func (s *served) compile(ctx context.Context, c compile) (any, error) {
	defer s.holdCompiling()()
	return nil, s.w.compile(ctx, c)
}

// part compiles a part of a library. It may be any module: the worker alone runs it.
func (s *served) part(ctx context.Context, module []byte) (pyodide.Part, error) {
	defer s.holdCompiling()()
	return s.w.p.o.Local.Part(ctx, module)
}

// maxCompiling bounds the time in which compiling what a worker sends does not count as the
// program's.
const maxCompiling = 2 * time.Minute

// holdCompiling stops the program's clock until release is called, or maxCompiling is used up.
func (s *served) holdCompiling() (release func()) {
	s.mu.Lock()
	left := maxCompiling - s.compiling
	s.mu.Unlock()
	if left <= 0 {
		return func() {}
	}
	begun, let := time.Now(), sync.OnceFunc(s.clock.Hold())
	timer := time.AfterFunc(left, let)
	return func() {
		timer.Stop()
		let()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.compiling += time.Since(begun)
	}
}

// known returns those packages that were prepared for the run, as they were.
func (s *served) known(q snapshot) (map[string]resolver.Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]resolver.Package{}
	for name, p := range q.Installed.Installed {
		if is, ok := s.packages[p.Tree]; ok && is.Name == name {
			known[name] = is
		}
	}
	if len(known) != len(q.Installed.Installed) {
		return nil, errors.New("packages that were not prepared")
	}
	return known, nil
}

// modules compiles what importing modules runs of packages, and returns the directories
// with their bytecode by their names. The program's time limit stands still.
func (s *served) modules(ctx context.Context, q snapshot) (map[string][]string, error) {
	defer s.clock.Hold()()
	held, cancel := s.hold(ctx)
	defer cancel()
	known, err := s.known(q)
	if err != nil {
		return nil, err
	}
	packages := order.Values(known)
	if err := s.w.p.o.Local.Compile(held, packages, q.Modules, s.req.Progress); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bytecode := map[string][]string{}
	for _, p := range packages {
		s.packages[p.Tree] = p
		bytecode[p.Name] = p.Bytecode
	}
	s.imports = true
	return bytecode, nil
}

func (s *served) snapshot(ctx context.Context, q snapshot) (bool, error) {
	known, err := s.known(q)
	if err != nil {
		return false, fmt.Errorf("snapshot: %w", err)
	}
	q.Installed.Installed = known
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wanted) < maxWanted {
		s.wanted = append(s.wanted, q)
	}
	return s.w.p.o.Local.Failed(ctx, q.Modules, q.Installed), nil
}

// maxWanted bounds the snapshots that a run has made.
const maxWanted = 16

// afterwards begins what is done in the background for later runs: while this one ran it had
// the processors.
func (s *served) afterwards() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.wanted {
		s.w.p.o.Local.Snapshot(s.ctx, q.Modules, q.Installed)
	}
	if s.imports {
		s.w.p.o.Local.Rest(s.ctx, order.Values(s.packages))
	}
}

// guest fetches and compiles the module of a language's command. The program's time limit
// stands still.
func (s *served) guest(ctx context.Context, name string) (any, error) {
	defer s.clock.Hold()()
	held, cancel := s.hold(ctx)
	defer cancel()
	if s.w.p.o.Guests == nil {
		return nil, errors.New("there are no guests")
	}
	return nil, s.w.p.o.Guests.Prepare(held, name, s.req.Progress)
}

// note takes a note of the worker.
func (s *served) note(method uint8, body []byte) {
	switch method {
	case notePrinted:
		_, _ = s.said.Write(body) // there is nobody to hear that it is much
		if s.req.Printed != nil {
			s.req.Printed(body)
		}
	case noteSaved:
		s.saveSmall(body)
	case noteProgress:
		var p runners.Progress
		if json.Unmarshal(body, &p) == nil {
			s.req.Progress.Report(runners.Progress{Phase: runners.ClipLine(p.Phase, maxWords), Item: runners.ClipLine(p.Item, maxWords), Done: p.Done, Total: p.Total})
		}
	}
}

// maxWords bounds what a worker says of its progress, in bytes.
const maxWords = 200
