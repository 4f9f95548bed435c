package server

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"coderunner/internal/answer"
	"coderunner/runners"
)

// Bounds of what a call's progress repeats of the program's output, in bytes.
const (
	maxLiveHeld    = 16 << 10 // between two notifications
	maxLiveMessage = 2000
	maxLive        = 64 << 10 // of all
)

// liveOutput is what a program has printed and the client was not sent yet, of
// both streams in the order in which it came.
type liveOutput struct {
	held    []byte
	dropped int // bytes printed before those held
	sent    int
}

// add adds output and keeps the end of what is too much.
func (l *liveOutput) add(p []byte) {
	if l.sent > maxLive {
		return
	}
	l.held = append(l.held, p[max(0, len(p)-maxLiveHeld):]...)
	l.dropped += max(0, len(p)-maxLiveHeld)
	if over := len(l.held) - maxLiveHeld; over > 0 {
		l.held = append(l.held[:0], l.held[over:]...)
		l.dropped += over
	}
}

// next returns what to send, as a terminal would show it, and "" if there is
// nothing. The last line waits for its end if an ANSI sequence may be cut.
func (l *liveOutput) next() string {
	n := len(l.held)
	if last := bytes.LastIndexByte(l.held, '\n') + 1; bytes.IndexByte(l.held[last:], '\x1b') >= 0 && n < maxLiveHeld {
		n = last
	}
	for i := n - 1; i >= max(0, n-utf8.UTFMax); i-- { // a character that has not come whole waits, too
		if utf8.RuneStart(l.held[i]) {
			if !utf8.FullRune(l.held[i:n]) {
				n = i
			}
			break
		}
	}
	if n == 0 {
		return ""
	}
	text := strings.TrimRight(answer.OnTerminal(strings.ToValidUTF8(string(l.held[:n]), "\ufffd")), "\n")
	if l.dropped > 0 {
		text = fmt.Sprintf("… %d bytes cut …\n%s", l.dropped, text)
	}
	l.held, l.dropped = append(l.held[:0], l.held[n:]...), 0
	text = runners.Clip(text, maxLiveMessage)
	if l.sent += len(text); l.sent > maxLive {
		text += "\n… what follows comes with the result …"
		l.held = nil
	}
	return text
}
