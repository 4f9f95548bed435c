package netstack

import (
	"bytes"
	"cmp"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// inbox is what a socket has received and nobody has read: bytes of a stream in
// a ring that grows, or messages. What it holds is charged.
type inbox struct {
	ring     []byte
	start, n int
	read     uint64 // bytes of the stream read so far
	marks    []mark // files that came with bytes of the stream
	list     []message
	bytes    int   // of list
	charged  int64 // bytes
	stuck    bool  // what was to come found no room; until something is read
}

// mark records files that came with the byte at a position of the stream.
type mark struct {
	at    uint64
	files []*memfs.File
}

type message struct {
	data  []byte
	from  Addr
	files []*memfs.File
}

const (
	firstRing     = 4 << 10
	defaultLimit  = 256 << 10 // of messages and AF_UNIX
	tcpLimit      = 2 << 20   // about what Linux lets a connection of its loopback grow to
	maxLimit      = 4 << 20
	messageCost   = 256 // bytes, beside the data
	maxMarks      = 64
	maxFilesAlong = 253 // SCM_MAX_FD
)

func (in *inbox) empty() bool { return in.n == 0 && len(in.list) == 0 }

// limitLocked is how many bytes may wait for k to read them.
func (k *Socket) limitLocked() int {
	if k.Type == abi.SOCK_STREAM && k.Domain != abi.AF_UNIX {
		return cmp.Or(k.opts.limit, tcpLimit)
	}
	return cmp.Or(k.opts.limit, defaultLimit)
}

// fullLocked reports whether nothing can be sent to k.
func (k *Socket) fullLocked() bool {
	return k.in.stuck || k.in.n >= k.limitLocked() || k.in.bytes >= k.limitLocked()
}

// putLocked appends bytes to k's stream and returns how many; files come with
// the first. ENOBUFS if the program's memory does not suffice for any.
func (k *Socket) putLocked(data [][]byte, files []*memfs.File) (done int, e abi.Errno) {
	in := &k.in
	want := min(size(data), k.limitLocked()-in.n)
	if want <= 0 || len(files) > 0 && len(in.marks) >= maxMarks {
		return 0, abi.EAGAIN
	}
	if !in.grow(k.stack, in.n+want, k.limitLocked()) {
		if want = len(in.ring) - in.n; want == 0 {
			if in.n == 0 {
				return 0, abi.ENOBUFS
			}
			in.stuck = true
			return 0, abi.EAGAIN
		}
	}
	if len(files) > 0 {
		in.marks = append(in.marks, mark{in.read + uint64(in.n), files})
	}
	for _, b := range data {
		for len(b) > 0 && done < want {
			at := (in.start + in.n) % len(in.ring)
			n := copy(in.ring[at:min(len(in.ring), at+want-done)], b)
			b = b[n:]
			in.n += n
			done += n
		}
	}
	return done, abi.OK
}

// grow makes room for need bytes in the ring.
func (in *inbox) grow(s *Stack, need, limit int) bool {
	size := max(len(in.ring), firstRing)
	for size < need {
		size *= 2
	}
	size = min(size, max(limit, firstRing))
	if size <= len(in.ring) {
		return need <= len(in.ring)
	}
	if !s.options.Reserve(int64(size - len(in.ring))) {
		return false
	}
	in.charged += int64(size - len(in.ring))
	ring := make([]byte, size)
	in.copyBytes([][]byte{ring}, in.n)
	in.ring, in.start = ring, 0
	return need <= size
}

// copyOut copies from the beginning of the stream and returns how many bytes.
func (in *inbox) copyOut(bufs [][]byte) (done int) {
	left := in.n
	if len(in.marks) > 1 { // what comes with the next files is another read's
		left = min(left, int(in.marks[1].at-in.read))
	} else if len(in.marks) == 1 && in.marks[0].at > in.read {
		left = min(left, int(in.marks[0].at-in.read))
	}
	return in.copyBytes(bufs, left)
}

// copyBytes copies the first left bytes of the stream, or as many as fit.
func (in *inbox) copyBytes(bufs [][]byte, left int) (done int) {
	for _, b := range bufs {
		for len(b) > 0 && left > 0 {
			at := (in.start + done) % len(in.ring)
			n := copy(b[:min(len(b), left)], in.ring[at:])
			b = b[n:]
			done += n
			left -= n
		}
	}
	return done
}

// take removes n bytes from the beginning of the stream and returns the files
// that came with them.
func (in *inbox) take(s *Stack, n int) (files []*memfs.File) {
	if len(in.marks) > 0 && in.marks[0].at < in.read+uint64(n) {
		files, in.marks = in.marks[0].files, in.marks[1:]
	}
	in.read += uint64(n)
	in.n -= n
	in.stuck = false
	if in.n == 0 { // an idle connection holds no memory
		s.options.Unreserve(in.charged)
		in.ring, in.start, in.charged = nil, 0, 0
		return files
	}
	in.start = (in.start + n) % len(in.ring)
	return files
}

// addLocked appends a message. EAGAIN if k is full, ENOBUFS if the program's
// memory does not suffice.
func (k *Socket) addLocked(data [][]byte, from Addr, files []*memfs.File) (int, abi.Errno) {
	in := &k.in
	cost := int64(size(data) + messageCost)
	if in.bytes > 0 && in.bytes+int(cost) > k.limitLocked() {
		in.stuck = true
		return 0, abi.EAGAIN
	}
	if !k.stack.options.Reserve(cost) {
		return 0, abi.ENOBUFS
	}
	m := message{bytes.Join(data, nil), from, files}
	in.charged += cost
	in.bytes += int(cost)
	in.list = append(in.list, m)
	return len(m.data), abi.OK
}

// next removes the first message.
func (in *inbox) next(s *Stack) {
	cost := int64(len(in.list[0].data) + messageCost)
	in.list[0] = message{}
	in.list = in.list[1:]
	in.bytes -= int(cost)
	in.charged -= cost
	in.stuck = false
	s.options.Unreserve(cost)
}

// drop drops everything and returns the files that were along.
func (in *inbox) drop(s *Stack) (files []*memfs.File) {
	for _, m := range in.marks {
		files = append(files, m.files...)
	}
	for _, m := range in.list {
		files = append(files, m.files...)
	}
	s.options.Unreserve(in.charged)
	*in = inbox{}
	return files
}
