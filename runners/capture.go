package runners

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// FloodFactor is how many times Limits.Output a program may print on one
// stream before it is ended with the status OutputLimit. Up to there the
// middle of what it prints is dropped and it goes on.
const FloodFactor = 20

// ErrFlood is returned by [Capture.Write] when a program prints without end.
var ErrFlood = errors.New("output limit exceeded")

// Capture keeps the head and the tail of a stream in bounded memory. It is
// safe for concurrent use.
type Capture struct {
	mu    sync.Mutex
	limit int64  // bytes kept
	head  []byte // the first limit/2 bytes
	tail  []byte // a ring of the last limit-limit/2 bytes
	total int64
}

// NewCapture keeps at most limit bytes.
func NewCapture(limit int64) *Capture { return &Capture{limit: limit} }

// Write takes all of p, or fails with ErrFlood when the stream has become
// longer than FloodFactor times the limit.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	if room := c.limit/2 - int64(len(c.head)); room > 0 {
		k := min(room, int64(len(p)))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	c.keepTail(p)
	if c.total > c.limit*FloodFactor {
		return n, ErrFlood
	}
	return n, nil
}

// keepTail appends p to the tail. The tail may grow to twice its size before
// its front is dropped, so that each byte is moved at most once.
func (c *Capture) keepTail(p []byte) {
	size := int(c.limit - c.limit/2)
	if len(p) >= size {
		c.tail = append(c.tail[:0], p[len(p)-size:]...)
		return
	}
	if len(c.tail)+len(p) > 2*size {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-size:]...)
	}
	c.tail = append(c.tail, p...)
}

// Total is the number of bytes written so far.
func (c *Capture) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Text returns what was kept as valid UTF-8, and whether something was cut. The
// cut is marked in the text with the number of bytes left out.
func (c *Capture) Text() (text string, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= c.limit {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "\ufffd"), false
	}
	head, tail := c.head, c.tail
	if size := int(c.limit - c.limit/2); len(tail) > size {
		tail = tail[len(tail)-size:]
	}
	// Do not cut inside a character.
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	cut := c.total - int64(len(head)) - int64(len(tail))
	return strings.ToValidUTF8(string(head), "\ufffd") +
		fmt.Sprintf("\n… %d bytes cut …\n", cut) +
		strings.ToValidUTF8(string(tail), "\ufffd"), true
}

// Clip keeps the head and the tail of a text that is longer than max bytes and
// says how much was cut.
func Clip(text string, max int) string {
	if len(text) <= max {
		return text
	}
	head, tail := max/2, len(text)-(max-max/2)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes cut …\n%s", text[:head], tail-head, text[tail:])
}
