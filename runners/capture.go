package runners

import (
	"errors"
	"fmt"
	"io"
	"slices"
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

// maxKept bounds what a Capture keeps of a stream, in bytes, however much may
// be printed.
const maxKept = 4 << 20

// Capture keeps what is printed on a stream, for [Capture.Text] to cut, or its
// head and its tail where that is more than 4 MiB. It is safe for concurrent
// use.
type Capture struct {
	live    io.Writer      // gets all of it as it comes; may be nil
	printed func(p []byte) // likewise, and has no part in the limits

	mu    sync.Mutex
	limit int64  // bytes that Text returns
	keep  int64  // bytes kept, at least limit and markSize
	head  []byte // the first keep/2 bytes
	tail  []byte // a ring of the last keep-keep/2 bytes
	total int64
}

// NewCapture returns a Capture whose Text has at most limit bytes.
func NewCapture(limit int64) *Capture {
	return &Capture{limit: limit, keep: max(limit+markSize, min(limit*FloodFactor, maxKept))}
}

// Write takes all of p. It fails with the error of the writer that the stream
// is passed on to or, if there is none, with ErrFlood when the stream has become
// longer than FloodFactor times the limit.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	if c.printed != nil {
		c.printed(p)
	}
	if c.live != nil {
		if k, err := c.live.Write(p); err != nil {
			return k, err
		}
	}
	c.total += int64(n)
	if room := c.keep/2 - int64(len(c.head)); room > 0 {
		k := min(room, int64(len(p)))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	c.keepTail(p)
	if c.live == nil && c.total > c.limit*FloodFactor {
		return n, ErrFlood
	}
	return n, nil
}

// keepTail appends p to the tail. The tail may grow to twice its size before
// its front is dropped, so that each byte is moved at most once.
func (c *Capture) keepTail(p []byte) {
	size := int(c.keep - c.keep/2)
	if len(p) >= size {
		c.tail = append(c.tail[:0], p[len(p)-size:]...)
		return
	}
	if len(c.tail)+len(p) > 2*size {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-size:]...)
	}
	c.tail = append(c.tail, p...)
}

// Text returns at most the limit's bytes of the stream, or a few more, as valid
// UTF-8, and whether something was cut. The cut is marked in the text with the number of
// bytes left out.
func (c *Capture) Text() (text string, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= c.limit+markSize {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "\ufffd"), false
	}
	head, tail := c.ends(int(c.limit))
	return strings.ToValidUTF8(string(head), "\ufffd") + cutMark(c.total-int64(len(head))-int64(len(tail)), "") +
		strings.ToValidUTF8(string(tail), "\ufffd"), true
}

// Whole returns all of a stream that Text cuts, as valid UTF-8, and "" if Text
// cuts nothing or not all was kept.
func (c *Capture) Whole() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= c.limit+markSize || c.total > c.keep {
		return ""
	}
	return strings.ToValidUTF8(string(c.head)+string(c.tail), "\ufffd")
}

// ends returns the first and last bytes of the stream, size in all and not cut
// inside a character.
func (c *Capture) ends(size int) (head, tail []byte) {
	head, tail = c.head, c.tail
	if c.total <= c.keep {
		head = slices.Concat(c.head, c.tail)
		tail = head
	}
	head, tail = head[:min(len(head), size/2)], tail[max(0, len(tail)-(size-size/2)):]
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return head, tail
}

// markSize is the number of bytes above a bound that are worth a mark, which takes
// as many.
const markSize = 32

// cutMark returns the text in place of bytes that were cut. More is a few words
// on where they are.
func cutMark(bytes int64, more string) string {
	return fmt.Sprintf("\n… %d bytes cut%s …\n", bytes, more)
}

// Clip keeps the head and the tail of a text that is longer than max bytes and
// says how much was cut, unless the mark were as long.
func Clip(text string, max int) string { return ClipMore(text, max, "") }

// ClipLine is Clip for a text that is shown in one line.
func ClipLine(text string, max int) string { return strings.ReplaceAll(Clip(text, max), "\n", " ") }

// ClipMore is Clip with a few words after the number of bytes, such as where
// all of the text is.
func ClipMore(text string, max int, more string) string {
	if len(text) <= max+markSize {
		return text
	}
	head, tail := max/2, len(text)-(max-max/2)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + cutMark(int64(tail-head), more) + text[tail:]
}
