// Package wire carries calls in both directions between two processes, over a pair of
// connected sockets: arguments and results as JSON, open files from one side to the other.
//
// A frame is a header of [headerSize] bytes and a body:
//
//	length uint32 | call uint32 | kind uint8 | method uint8 | files uint8 | 0
//
// Each side may call the other at any time; calls are told apart by their numbers. A note
// is a call that nobody answers: notes arrive in the order in which they were sent.
//
// # Trust
//
// The other side may be hostile. A body is bounded before it is read, calls in progress are
// bounded, and files are taken only by the side that asks for them ([Options.TakesFiles]);
// the kernel drops them for the other. What breaks the protocol ends the connection.
//
// # Locking
//
// Conn.writing orders frames; Conn.mu guards the calls. Neither is held while a handler runs.
package wire

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"coderunner/internal/crew"
)

// Bounds of what the other side may send.
const (
	MaxBody    = 128 << 20   // bytes of a frame
	maxServing = 256         // calls that it waits for
	maxServed  = 2 * MaxBody // bytes of their arguments
)

const headerSize = 12

// The kinds of frames.
const (
	kindCall = iota
	kindReply
	kindError
	kindNote
	kindCancel
)

// ErrClosed is wrapped by the error of a call that the end of the connection cut short.
var ErrClosed = errors.New("the connection to the other process has ended")

// Raw is an argument or result that is sent as it is.
type Raw []byte

// Parts are an argument of a note that are sent as they are, one behind the other.
type Parts [][]byte

// Options are what a Conn is given.
type Options struct {
	// Serve answers a call, on a goroutine of its own. The result is encoded as JSON unless
	// it is Raw; file, which may be nil, is sent along and closed.
	Serve func(ctx context.Context, method uint8, body []byte) (result any, file *os.File, err error)
	// Note takes a note. Frames wait until it returns.
	Note func(method uint8, body []byte, file *os.File)
	// TakesFiles accepts open files.
	TakesFiles bool
	// EncodeError and DecodeError are how errors cross.
	EncodeError func(error) any
	DecodeError func([]byte) error
}

// Conn is one end of a connection. Its methods are safe for concurrent use.
type Conn struct {
	o    Options
	sock *socket
	end  chan struct{} // closed when nothing arrives any more

	writing sync.Mutex

	mu      sync.Mutex
	next    uint32
	waiting map[uint32]chan reply
	serving map[uint32]context.CancelFunc
	served  int // bytes of the arguments of these
	closed  bool

	room    chan struct{}  // a token for each call that is served
	workers sync.WaitGroup // for calls that are served
	crew    *crew.Crew     // serves them
}

type reply struct {
	failed bool
	body   []byte
	file   *os.File
}

// New returns a Conn on one end of a socket pair, which it owns from then on. Nothing is read
// before Start.
func New(c *net.UnixConn, o Options) *Conn {
	end := make(chan struct{})
	return &Conn{
		o: o, sock: &socket{c: c, takesFiles: o.TakesFiles}, end: end, crew: crew.New(1, end),
		waiting: map[uint32]chan reply{}, serving: map[uint32]context.CancelFunc{}, room: make(chan struct{}, maxServing),
	}
}

// Start begins to read. It is called once, before Close.
func (c *Conn) Start() { go c.read() }

// Done is closed when the other side, or this one, has ended the connection.
func (c *Conn) Done() <-chan struct{} { return c.end }

// End ends the connection and does not wait.
func (c *Conn) End() { c.sock.c.Close() }

// Close ends the connection, cancels what is being served and waits for it.
func (c *Conn) Close() {
	c.sock.c.Close()
	<-c.end
	c.Settle()
}

// Settle cancels what is being served and waits for it.
func (c *Conn) Settle() {
	c.mu.Lock()
	for _, cancel := range c.serving {
		cancel()
	}
	c.mu.Unlock()
	c.workers.Wait()
}

// Call calls the other side and decodes the result into the value that result points to,
// or leaves it if that is nil; a *Raw gets the bytes. The end of ctx is passed on, and Call
// returns when the other side has answered.
func (c *Conn) Call(ctx context.Context, method uint8, argument, result any) (*os.File, error) {
	body, err := encode(argument)
	if err != nil {
		return nil, err
	}
	answered := make(chan reply, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.next++
	id := c.next
	c.waiting[id] = answered
	c.mu.Unlock()
	if err := c.write(kindCall, method, id, nil, body); err != nil {
		c.forget(id)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.write(kindCancel, 0, id, nil) })
	defer stop()
	select {
	case r := <-answered:
		return r.decode(c.o, result)
	case <-c.end:
	}
	select { // it may have come just before the end
	case r := <-answered:
		return r.decode(c.o, result)
	default:
		return nil, ErrClosed
	}
}

func (r reply) decode(o Options, result any) (*os.File, error) {
	var err error
	switch to := result.(type) {
	case nil:
	case *Raw:
		*to = r.body
	default:
		if !r.failed {
			err = json.Unmarshal(r.body, to)
		}
	}
	if r.failed {
		err = o.DecodeError(r.body)
	}
	if err != nil && r.file != nil {
		r.file.Close()
		r.file = nil
	}
	return r.file, err
}

// Note sends a note, with a file if that is not nil, which the caller closes.
func (c *Conn) Note(method uint8, argument any, file *os.File) error {
	parts, ok := argument.(Parts)
	if !ok {
		body, err := encode(argument)
		if err != nil {
			return err
		}
		parts = Parts{body}
	}
	return c.write(kindNote, method, 0, file, parts...)
}

func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case Raw:
		return v, nil
	}
	b, err := json.Marshal(v)
	if err == nil && len(b) > MaxBody {
		err = fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	return b, err
}

func (c *Conn) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *Conn) write(kind, method uint8, id uint32, file *os.File, body ...[]byte) error {
	length := 0
	for _, part := range body {
		length += len(part)
	}
	copied, room := file != nil || length < apart, headerSize
	if copied {
		room += length
	}
	frame := make([]byte, headerSize, room)
	binary.LittleEndian.PutUint32(frame, uint32(length))
	binary.LittleEndian.PutUint32(frame[4:], id)
	frame[8], frame[9] = kind, method
	if file != nil {
		frame[10] = 1
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	var err error
	if copied {
		for _, part := range body {
			frame = append(frame, part...)
		}
		err = c.sock.write(frame, file)
	} else {
		parts := append(net.Buffers{frame}, body...)
		_, err = parts.WriteTo(c.sock.c)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// apart is the length in bytes from which on a body is not copied behind its header.
const apart = 32 << 10

// read reads frames until the connection ends.
func (c *Conn) read() {
	defer func() {
		c.sock.close()
		c.mu.Lock()
		c.closed = true
		for _, cancel := range c.serving {
			cancel()
		}
		c.mu.Unlock()
		close(c.end)
	}()
	header := make([]byte, headerSize)
	for {
		if c.sock.readFull(header) != nil {
			return
		}
		length := binary.LittleEndian.Uint32(header)
		if length > MaxBody || header[10] > 1 || header[10] == 1 && !c.o.TakesFiles {
			return
		}
		body, err := c.sock.body(int(length))
		if err != nil {
			return
		}
		var file *os.File
		if header[10] == 1 {
			if file = c.sock.takeFile(); file == nil {
				return
			}
		}
		if !c.take(header[8], header[9], binary.LittleEndian.Uint32(header[4:]), body, file) {
			return
		}
	}
}

// take takes a frame, and reports whether it is one of the protocol.
func (c *Conn) take(kind, method uint8, id uint32, body []byte, file *os.File) bool {
	switch kind {
	case kindCall:
		if file != nil || c.o.Serve == nil {
			return false
		}
		return c.serve(method, id, body)
	case kindReply, kindError:
		c.mu.Lock()
		answered := c.waiting[id]
		delete(c.waiting, id)
		c.mu.Unlock()
		if answered == nil {
			return false
		}
		answered <- reply{kind == kindError, body, file}
	case kindNote:
		if c.o.Note == nil {
			return false
		}
		c.o.Note(method, body, file)
	case kindCancel:
		c.mu.Lock()
		cancel := c.serving[id]
		c.mu.Unlock()
		if cancel != nil { // else it was answered meanwhile
			cancel()
		}
	default:
		return false
	}
	return true
}

// serve answers a call in the background. It reports false if there are too many, or too large ones.
func (c *Conn) serve(method uint8, id uint32, body []byte) bool {
	select {
	case c.room <- struct{}{}:
	default:
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	_, bad := c.serving[id]
	if bad = bad || c.served+len(body) > maxServed; !bad {
		c.serving[id] = cancel
		c.served += len(body)
	}
	c.mu.Unlock()
	if bad {
		cancel()
		return false
	}
	c.workers.Add(1)
	c.crew.Go(func() {
		defer c.workers.Done()
		result, file, err := c.o.Serve(ctx, method, body)
		c.mu.Lock()
		delete(c.serving, id)
		c.served -= len(body)
		c.mu.Unlock()
		cancel()
		<-c.room
		kind := uint8(kindReply)
		var answer []byte
		if err == nil {
			answer, err = encode(result)
		}
		if err != nil {
			kind = kindError
			answer, _ = encode(c.o.EncodeError(err))
		}
		_ = c.write(kind, 0, id, file, answer) // else the connection has ended
		if file != nil {
			file.Close()
		}
	})
	return true
}
