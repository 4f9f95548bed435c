package pyodide

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"

	"coderunner/internal/cbor"
	"coderunner/pyodide/codestore"
)

// parts compiles the parts of a split library when an interpreter first calls for them, and on
// another processor those that they call. They are shared by all interpreters of a runtime.
// What the first process has compiled is kept for the next ones.
type parts struct {
	splitInfo
	*compiled
	sum  string        // of the library
	turn chan struct{} // holds a token while a part is loaded
	dir  string        // has the machine code of the part that is being loaded
	code []wazero.CompiledModule

	mu       sync.Mutex
	built    []Part                   // what there is to keep, beside code
	building map[uint32]chan struct{} // each is closed when the part is built, or cannot be
	first    bool                     // nothing was kept: this process keeps what it builds
	next     []uint32                 // to be built ahead, the last one first
	ahead    bool                     // next is being built
}

// Part is the machine code of a part of a split library, and its stub.
type Part struct{ Stub, Code []byte }

// partsKey names the parts of a library that are kept.
func partsKey(sum string) string { return firstKey(sum) + " parts" }

func newParts(r *compiled, sum string, info splitInfo) *parts {
	return &parts{splitInfo: info, compiled: r, sum: sum, turn: make(chan struct{}, 1), building: map[uint32]chan struct{}{}}
}

// Part implements [dylink.Parts].
func (p *parts) Part(ctx context.Context, n uint32) (_ wazero.CompiledModule, err error) {
	if n >= uint32(len(p.Ends)) {
		return nil, fmt.Errorf("there is no part %d", n)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.code == nil {
		if err := p.begin(ctx); err != nil {
			return nil, err
		}
	}
	if p.code[n] == nil {
		p.code[n], err = p.load(ctx, n)
	}
	return p.code[n], err
}

// begin makes what the first part needs.
func (p *parts) begin(ctx context.Context) (err error) {
	if err = p.find(ctx); err == nil {
		p.dir, err = p.compiled.code.TempDir()
	}
	if err == nil {
		p.code = make([]wazero.CompiledModule, len(p.Ends))
	}
	return err
}

// load loads a part when it is built.
func (p *parts) load(ctx context.Context, n uint32) (_ wazero.CompiledModule, err error) {
	built, err := p.wait(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("compile a part: %w", err)
	}
	stub, err := codestore.ReadStub(built.Stub)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, codestore.CodeFile)
	if err := os.WriteFile(file, built.Code, 0o600); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }() // another part's is another file
	return p.compiled.code.LoadOr(ctx, stub, file, func() ([]byte, error) { return p.part(n), nil })
}

// wait returns a part that is built: before, by another goroutine, or by this one. Those that
// it calls are built ahead.
func (p *parts) wait(ctx context.Context, n uint32) (Part, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first && runtime.GOMAXPROCS(0) > 1 {
		for _, c := range slices.Backward(p.Calls[n]) {
			p.next = append(p.next, c)
		}
		if !p.ahead {
			p.ahead = true
			p.link.running.Go(func() { p.buildAhead(ctx) })
		}
	}
	for p.built[n].Code == nil {
		over, ok := p.building[n]
		if !ok {
			if err := p.build(ctx, n); err != nil {
				return Part{}, err
			}
			break
		}
		p.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return Part{}, context.Cause(ctx)
		}
	}
	return p.built[n], nil
}

// buildAhead builds what parts call that were wanted, until the program of ctx has ended or the
// runtime is closed. What cannot be built is tried again when it is wanted.
func (p *parts) buildAhead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.link.ctx, cancel)()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.next) > 0 && ctx.Err() == nil {
		last := len(p.next) - 1
		n := p.next[last]
		p.next = p.next[:last]
		if _, ok := p.building[n]; !ok && p.built[n].Code == nil {
			_ = p.build(ctx, n)
		}
	}
	p.ahead = false
}

// build builds a part. The caller has locked mu, which is not locked meanwhile.
func (p *parts) build(ctx context.Context, n uint32) error {
	over := make(chan struct{})
	p.building[n] = over
	p.mu.Unlock()
	built, err := p.compile(ctx, n)
	p.mu.Lock()
	delete(p.building, n)
	close(over)
	if err == nil {
		p.built[n] = built
	}
	return err
}

// compile compiles a part.
func (p *parts) compile(ctx context.Context, n uint32) (Part, error) {
	if p.config.Part != nil {
		return p.config.Part(ctx, p.part(n))
	}
	return p.compiled.compilePart(ctx, p.part(n))
}

// CompilePart compiles a part of a split library. Those that were compiled last are kept by what
// they were compiled of: who asks need not be believed what it is a part of.
func (r *Runtime) CompilePart(ctx context.Context, module []byte) (Part, error) {
	key := sha256.Sum256(module)
	if part, ok := r.link.parts.Get(key); ok {
		return part, nil
	}
	part, err := r.compilePart(ctx, module)
	if err == nil {
		r.link.parts.Put(key, part)
	}
	return part, err
}

func (r *compiled) compilePart(ctx context.Context, module []byte) (part Part, err error) {
	dir, err := r.code.TempDir()
	if err != nil {
		return Part{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, partFile), module, 0o600); err != nil {
		return Part{}, err
	}
	if err := r.build(ctx, dir, 0, false); err != nil {
		return Part{}, err
	}
	if part.Stub, err = os.ReadFile(filepath.Join(dir, codestore.StubFile)); err == nil {
		part.Code, err = os.ReadFile(filepath.Join(dir, codestore.CodeFile))
	}
	return part, err
}

// find reads what is kept.
func (p *parts) find(ctx context.Context) error {
	version, err := p.compiled.code.Version()
	if err != nil {
		return err
	}
	built := make([]Part, len(p.Ends))
	file, err := p.config.Store.File(ctx, libraryKinds.Code, partsKey(p.sum)+" "+version, func(context.Context, io.Writer) error { return ErrNotPrepared })
	if err == nil {
		err = readParts(file, built)
	}
	if err != nil && !errors.Is(err, ErrNotPrepared) {
		return err
	}
	p.built, p.first = built, err != nil
	return nil
}

// keep keeps the parts that were built, if none were.
func (p *parts) keep(ctx context.Context) error {
	if !p.first || p.config.Part != nil { // else it is kept elsewhere
		return nil
	}
	version, err := p.compiled.code.Version()
	if err == nil {
		_, err = p.config.Store.File(ctx, libraryKinds.Code, partsKey(p.sum)+" "+version, func(_ context.Context, w io.Writer) error {
			return p.writeParts(w)
		})
	}
	return err
}

// keptPart is a part in the file of those that are kept, a sequence of them as CBOR.
type keptPart struct {
	N uint32
	Part
}

func (p *parts) writeParts(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 256<<10)
	for n, part := range p.built {
		if part.Code == nil {
			continue
		}
		if err := cbor.Write(buffered, keptPart{uint32(n), part}); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func readParts(file string, built []Part) error {
	b, err := os.ReadFile(file)
	for err == nil && len(b) > 0 {
		var k keptPart
		if b, err = cbor.UnmarshalFirst(b, &k); err == nil && k.N >= uint32(len(built)) {
			err = errors.New("the kept parts of a library are damaged")
		}
		if err == nil {
			built[k.N] = k.Part
		}
	}
	return err
}

// Close implements [dylink.Parts].
func (p *parts) Close(ctx context.Context) error {
	var errs []error
	for _, c := range p.code {
		if c != nil {
			errs = append(errs, c.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
