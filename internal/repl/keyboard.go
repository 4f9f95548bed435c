package repl

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// keyboard is what is typed at a terminal. It goes to the editor while a line is
// edited, and to a statement that reads its standard input while that runs. What is
// pasted is known by the marks that terminals put around it (bracketed paste).
type keyboard struct {
	typed chan []byte // from the terminal; an empty one is Ctrl-D's end of file

	mu     sync.Mutex
	rest   []byte // typed, but not taken yet
	pasted bool   // rest begins within what was pasted
}

const pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

// lineDone is how long a line may take to come out of the editor after Ctrl-C or
// Ctrl-D, which need not end it, before keys that follow go to the editor, too.
const lineDone = 20 * time.Millisecond

func newKeyboard(tty *os.File) *keyboard {
	k := &keyboard{typed: make(chan []byte)}
	go func() {
		for {
			buf := make([]byte, 4096)
			n, err := tty.Read(buf)
			k.typed <- buf[:n]
			if err != nil && err != io.EOF {
				close(k.typed)
				return
			}
		}
	}()
	return k
}

// wait waits until something is typed. It returns false at the end of file, and when
// done is closed.
func (k *keyboard) wait(done <-chan struct{}) bool {
	k.mu.Lock()
	waits := len(k.rest) > 0
	k.mu.Unlock()
	if waits {
		return true
	}
	select {
	case <-done:
		return false
	case b := <-k.typed:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.rest = append(k.rest, b...)
		return len(b) > 0
	}
}

// take returns the keys up to the end of a line, without the marks of a paste, whose
// tabs, which would complete names, are spaces.
func (k *keyboard) take() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if rest, ok := bytes.CutPrefix(k.rest, []byte(pasteBegins)); ok {
		k.rest, k.pasted = rest, true
	}
	end := bytes.IndexAny(k.rest, "\r\n\x03\x04") + 1
	end = cmp.Or(end, len(k.rest))
	for _, mark := range []string{pasteBegins, pasteEnds} {
		if at := bytes.Index(k.rest[:end], []byte(mark)); at >= 0 {
			end = at
		}
	}
	keys := k.rest[:end:end]
	k.rest = k.rest[end:]
	if k.pasted {
		keys = bytes.ReplaceAll(keys, []byte("\t"), []byte("    "))
	}
	if rest, ok := bytes.CutPrefix(k.rest, []byte(pasteEnds)); ok {
		k.rest, k.pasted = rest, false
	}
	return keys
}

// pasting reports whether more of what was pasted is to come.
func (k *keyboard) pasting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pasted
}

// feed writes the keys of a line to the editor, until done is closed.
func (k *keyboard) feed(editor io.WriteCloser, done <-chan struct{}) {
	for k.wait(done) {
		keys := k.take()
		if _, err := editor.Write(keys); err != nil {
			return
		}
		switch {
		case bytes.ContainsAny(keys, "\r\n"):
			<-done
			return
		case bytes.ContainsAny(keys, "\x03\x04"):
			select {
			case <-done:
				return
			case <-time.After(lineDone):
			}
		}
	}
	select {
	case <-done:
	default:
		editor.Close() // the end of file
	}
}

// statementInput is the standard input of one statement, until done is closed.
type statementInput struct {
	*keyboard
	done <-chan struct{}
}

// Read implements io.Reader.
func (s statementInput) Read(b []byte) (int, error) {
	if !s.wait(s.done) {
		return 0, io.EOF
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done: // what was typed is the next statement
		return 0, io.EOF
	default:
	}
	text := strings.NewReplacer(pasteBegins, "", pasteEnds, "").Replace(string(s.rest))
	n := copy(b, text)
	s.rest = append([]byte(nil), text[n:]...)
	return n, nil
}
