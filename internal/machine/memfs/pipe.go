package memfs

import (
	"context"
	"sync"

	"coderunner/internal/machine/abi"
)

const (
	pipeSize = 64 << 10 // bytes that a pipe buffers, as on Linux
	pipeBuf  = 4096     // PIPE_BUF: writes to this length are not torn
)

// pipe is what the ends of a pipe or FIFO share: a ring buffer. The buffer is
// charged to the budget while any end is open, and allocated at the first write.
type pipe struct {
	Waiters // woken by every change

	mu      sync.Mutex // guards what follows
	ring    []byte
	start   int // of the buffered bytes in ring
	n       int // buffered bytes
	readers int
	writers int
	// Every reader and writer there ever was: an open that waits for the other
	// side is done even if that side has left again.
	readersEver, writersEver uint64
}

// pipeEnd is an open end; a FIFO opened for reading and writing is both.
type pipeEnd struct {
	p           *pipe
	budget      *budget
	read, write bool
	// What readersEver and writersEver were before it was opened.
	readersThen, writersThen uint64
	lone                     bool // opened for reading when there was no writer
}

// Pipe makes a pipe with a 64 KiB buffer. flags may hold O_NONBLOCK. ENFILE
// when the buffer is not within the budget.
func (fsys *FS) Pipe(flags uint32) (r, w *File, e abi.Errno) {
	p := new(pipe)
	flags &= abi.O_NONBLOCK
	re, e := p.join(&fsys.bytes, true, false)
	if e != abi.OK {
		return nil, nil, e
	}
	we, _ := p.join(&fsys.bytes, false, true) // charged already
	r = fsys.NewFile(re, abi.O_RDONLY|flags, abi.S_IFIFO|0o600)
	w = fsys.NewFile(we, abi.O_WRONLY|flags, abi.S_IFIFO|0o600)
	w.stat = r.stat // one inode
	return r, w, abi.OK
}

// join opens an end without waiting.
func (p *pipe) join(b *budget, read, write bool) (*pipeEnd, abi.Errno) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers+p.writers == 0 && !b.take(pipeSize) {
		return nil, abi.ENFILE
	}
	end := &pipeEnd{
		p: p, budget: b, read: read, write: write,
		readersThen: p.readersEver, writersThen: p.writersEver, lone: p.writers == 0,
	}
	if read {
		p.readers++
		p.readersEver++
	}
	if write {
		p.writers++
		p.writersEver++
	}
	p.Wake()
	return end, abi.OK
}

// open opens a FIFO as open(2) does: an end waits for the other one.
func (p *pipe) open(ctx context.Context, b *budget, flags uint32) (Stream, abi.Errno) {
	read, write := flags&3 != abi.O_WRONLY, flags&3 != abi.O_RDONLY
	nonblock := flags&abi.O_NONBLOCK != 0
	if write && !read && nonblock && p.count(&p.readers) == 0 {
		return nil, abi.ENXIO
	}
	end, e := p.join(b, read, write)
	if e != abi.OK {
		return nil, e
	}
	if read && write || nonblock {
		return end, abi.OK
	}
	e = Await(ctx, p, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if read {
			return p.writers > 0 || p.writersEver != end.writersThen
		}
		return p.readers > 0 || p.readersEver != end.readersThen
	})
	if e != abi.OK {
		end.Close()
		return nil, e
	}
	return end, abi.OK
}

// count reads a number that p.mu guards.
func (p *pipe) count(ends *int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *ends
}

// Read implements Stream.
func (end *pipeEnd) Read(ctx context.Context, b []byte, nonblock bool) (n int, e abi.Errno) {
	if len(b) == 0 {
		return 0, abi.OK
	}
	p := end.p
	try := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		n = p.takeLocked(b)
		return n > 0 || p.writers == 0
	}
	if nonblock {
		if !try() {
			e = abi.EAGAIN
		}
	} else {
		e = Await(ctx, p, try)
	}
	if n > 0 {
		p.Wake()
	}
	return n, e
}

// Write implements Stream. A blocking write returns when everything is
// buffered, the readers are gone or ctx ends.
func (end *pipeEnd) Write(ctx context.Context, b []byte, nonblock bool) (n int, e abi.Errno) {
	if len(b) == 0 {
		return 0, abi.OK
	}
	p := end.p
	broken := false
	try := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if broken = p.readers == 0; broken {
			return true
		}
		if k := p.putLocked(b[n:], len(b) <= pipeBuf); k > 0 {
			n += k
			p.Wake()
		}
		return n == len(b)
	}
	if nonblock {
		if !try() && n == 0 {
			e = abi.EAGAIN
		}
	} else {
		e = Await(ctx, p, try)
	}
	switch {
	case n > 0:
		return n, abi.OK
	case broken:
		return 0, abi.EPIPE
	}
	return 0, e
}

// takeLocked moves buffered bytes to b.
func (p *pipe) takeLocked(b []byte) (n int) {
	for n < len(b) && p.n > 0 {
		k := copy(b[n:], p.ring[p.start:min(p.start+p.n, pipeSize)])
		n += k
		p.n -= k
		p.start = (p.start + k) % pipeSize
	}
	return n
}

// putLocked buffers bytes of b, all or none if whole is set.
func (p *pipe) putLocked(b []byte, whole bool) (n int) {
	if whole && len(b) > pipeSize-p.n {
		return 0
	}
	if p.ring == nil {
		p.ring = make([]byte, pipeSize)
	}
	for n < len(b) && p.n < pipeSize {
		at := (p.start + p.n) % pipeSize
		k := copy(p.ring[at:min(pipeSize, at+pipeSize-p.n)], b[n:])
		n += k
		p.n += k
	}
	return n
}

// Close implements Stream. What is buffered is lost with the last end.
func (end *pipeEnd) Close() abi.Errno {
	p := end.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if end.read {
		p.readers--
	}
	if end.write {
		p.writers--
	}
	if p.readers+p.writers == 0 {
		p.ring, p.start, p.n = nil, 0, 0
		end.budget.give(pipeSize)
	}
	p.Wake()
	return abi.OK
}

// Ready implements Poller, as Linux's pipe_poll does.
func (end *pipeEnd) Ready() (ev abi.Events) {
	p := end.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if end.read {
		if p.n > 0 {
			ev |= abi.POLLIN | abi.POLLRDNORM
		}
		if p.writers == 0 && !(end.lone && p.writersEver == end.writersThen) {
			ev |= abi.POLLHUP
		}
	}
	if end.write {
		if pipeSize-p.n >= pipeBuf {
			ev |= abi.POLLOUT | abi.POLLWRNORM
		}
		if p.readers == 0 {
			ev |= abi.POLLERR
		}
	}
	return ev
}

// Capacity returns how many bytes the pipe buffers.
func (end *pipeEnd) Capacity() int { return pipeSize }

// Available returns how many bytes are there to be read.
func (end *pipeEnd) Available() int { return end.p.count(&end.p.n) }

// Watch implements Poller.
func (end *pipeEnd) Watch(ch chan<- struct{}) (stop func()) { return end.p.Watch(ch) }
