package memfs

import (
	"coderunner/internal/machine/abi"
)

const (
	// chunkSize is the unit in which file data is held and copied.
	chunkSize = 64 << 10

	// maxFileSize keeps chunk indices and positions far from overflow.
	maxFileSize = 1 << 43
)

// contents is a regular file's data: chunks of which any may be missing and
// each may be short. What is not there reads as zeros; bytes at and past size
// are always zero, so that a file grows without being touched.
//
//	size           150 KiB
//	chunk      0        1        2
//	       ┌────────┬ ─ ─ ─ ─┬──┐
//	       │  64 KiB│  (hole) │..│ first 22 KiB of the chunk, 20 written
//	       └────────┴ ─ ─ ─ ─┴──┘
//
// The first chunk has a place of its own, since most files have no other.
type contents struct {
	size  int64
	held  int64 // bytes charged to the budget
	first []byte
	rest  map[int64][]byte // by index, from 1

	from   *source // has the data, until it is changed; nil: the chunks have
	shares bool    // may be shared memory
	shared Shared  // the first chunks; nil: none
}

func (c *contents) chunk(i int64) []byte {
	if i == 0 {
		return c.first
	}
	return c.rest[i]
}

func (c *contents) setChunk(i int64, k []byte) {
	switch {
	case i == 0:
		c.first = k
	case k == nil:
		delete(c.rest, i)
	default:
		if c.rest == nil {
			c.rest = make(map[int64][]byte)
		}
		c.rest[i] = k
	}
}

// readAt copies data at off, which is not negative, and returns how much of p
// lies within the file.
func (c *contents) readAt(p []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	p = p[:min(int64(len(p)), c.size-off)]
	for done := 0; done < len(p); {
		pos := off + int64(done)
		i, at := pos/chunkSize, int(pos%chunkSize)
		part := p[done:min(len(p), done+chunkSize-at)]
		n := 0
		if b := c.chunk(i); at < len(b) {
			n = copy(part, b[at:])
		}
		clear(part[n:])
		done += len(part)
	}
	return len(p)
}

// writeAt writes p at off, which is not negative, as far as the budget and the
// largest file allow.
func (c *contents) writeAt(b *budget, p []byte, off int64) (int, abi.Errno) {
	if len(p) == 0 {
		return 0, abi.OK
	}
	if off >= maxFileSize {
		return 0, abi.EFBIG
	}
	p = p[:min(int64(len(p)), maxFileSize-off)]
	done := 0
	for done < len(p) {
		pos := off + int64(done)
		i, at := pos/chunkSize, int(pos%chunkSize)
		part := p[done:min(len(p), done+chunkSize-at)]
		buf := c.reserve(b, i, at+len(part))
		if at >= len(buf) {
			break
		}
		done += copy(buf[at:], part)
		if at+len(part) > len(buf) {
			break
		}
	}
	if done == 0 {
		return 0, abi.ENOSPC
	}
	c.size = max(c.size, off+int64(done))
	return done, abi.OK
}

// reserve makes the chunk i at least n bytes long, or as long as the
// budget allows, and returns its bytes.
func (c *contents) reserve(b *budget, i int64, n int) []byte {
	k := c.chunk(i)
	have := len(k)
	if n <= have {
		return k
	}
	grown := c.charge(b, have, n)
	if grown == have {
		return k
	}
	buf := make([]byte, grown)
	copy(buf, k)
	c.held += int64(grown - have)
	c.setChunk(i, buf)
	return buf
}

// charge takes the budget for growing a chunk from have to at least n bytes:
// generously, then exactly, then as far as it goes. It returns the new length.
func (c *contents) charge(b *budget, have, n int) int {
	roomy := min(chunkSize, (max(n, 2*have)+511)&^511)
	for _, want := range [...]int{roomy, n, have + int(min(b.left(), int64(n-have)))} {
		if b.take(int64(want - have)) {
			return want
		}
	}
	return have
}

// truncate sets the size and lets go of what lies past it.
func (c *contents) truncate(b *budget, size int64) {
	if size < c.size {
		last, at := size/chunkSize, int(size%chunkSize)
		for i := range c.rest {
			if i > last {
				c.cut(b, i, 0)
			}
		}
		c.cut(b, last, at)
	}
	c.size = size
}

// cut removes the bytes of chunk i from at on: it zeroes them, or shortens the
// chunk where that saves half of it.
func (c *contents) cut(b *budget, i int64, at int) {
	k := c.chunk(i)
	if at >= len(k) {
		return
	}
	if at > len(k)/2 || c.sharedChunk(i) {
		clear(k[at:])
		return
	}
	saved := int64(len(k) - at)
	c.setChunk(i, append([]byte(nil), k[:at]...)) // nil if nothing is left
	c.held -= saved
	b.give(saved)
}
