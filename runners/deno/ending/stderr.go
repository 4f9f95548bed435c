package ending

import (
	"bytes"
	"io"
	"strings"
)

// maxHeld bounds, in bytes, how much of stderr is held back.
const maxHeld = 64 << 10

// held passes on what a program prints to stderr, but for the text that may be
// the runtime's own about the end of the program: whether it is, and the
// outcome has it in better words, is known at the end.
type held struct {
	w    io.Writer
	text []byte
	err  error // of w
}

// beginnings are what such texts begin with, at the start of a line.
var beginnings = []string{"error: ", "# Fatal ", "<--- Last few GCs --->", "==========", "memory allocation of ", "Fatal glibc error: ", "libc++abi: ", "terminate called "}

// Write implements io.Writer.
func (h *held) Write(p []byte) (int, error) {
	h.text = append(h.text, p...)
	line := string(h.text[bytes.LastIndexByte(h.text, '\n')+1:])
	at, suspect := len(h.text), false
	for _, b := range beginnings {
		suspect = suspect || bytes.Contains(h.text, []byte(b))
		if line != "" && strings.HasPrefix(b, line) {
			at = len(h.text) - len(line)
		}
	}
	if suspect {
		if m := uncaught.Get().FindAllIndex(h.text, -1); m != nil {
			at = min(at, m[len(m)-1][0])
		} else if m := lastWords.Get().FindIndex(h.text); m != nil {
			at = min(at, m[0])
		}
		if m := workerFailed.Get().FindIndex(h.text); m != nil {
			at = min(at, m[0])
		}
	}
	if len(h.text)-at > maxHeld {
		at = len(h.text)
	}
	return len(p), h.pass(at)
}

// pass passes on the first n bytes.
func (h *held) pass(n int) error {
	if n > 0 && h.err == nil {
		_, h.err = h.w.Write(h.text[:n])
		h.text = append(h.text[:0], h.text[n:]...)
	}
	return h.err
}

// release passes on what is held, as the outcome shows it, up to where stderr in the outcome
// ends.
func (h *held) release(stderr string, shown func(string) string) {
	if h.w == nil {
		return
	}
	text, stderr := shown(strings.ToValidUTF8(string(h.text), "\ufffd")), strings.TrimRight(stderr, "\n")
	for end := len(text); end > 0; end = strings.LastIndexByte(text[:end-1], '\n') + 1 {
		if strings.HasSuffix(stderr, strings.TrimRight(text[:end], "\n")) {
			h.text = append(h.text[:0], text...)
			_ = h.pass(end)
			return
		}
	}
}
