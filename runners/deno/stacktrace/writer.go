package stacktrace

import (
	"bytes"
	"io"
)

// Writer passes on what a program prints, as Show has it.
type Writer struct {
	w io.Writer
	*Map
	rest []byte // the beginning of what may be a place
}

// NewWriter returns a Writer to w.
func (l *Map) NewWriter(w io.Writer) *Writer { return &Writer{w: w, Map: l} }

// maxPlace bounds rest, in bytes.
const maxPlace = 4096

// Write implements io.Writer.
func (p *Writer) Write(b []byte) (int, error) {
	if len(p.rest) == 0 && !bytes.Contains(b, []byte("file:///")) && !p.has(b) {
		return p.w.Write(b)
	}
	text := append(p.rest, b...)
	tail := text[max(0, len(text)-maxPlace):]
	p.rest = nil
	if at := bytes.LastIndex(tail, []byte("file:///")); at >= 0 && !bytes.ContainsAny(tail[at:], " \t\r\n\f()'\"") { // it may be the beginning of a place
		switch {
		case at > 0:
			p.rest = append(p.rest, tail[at:]...)
		case len(text) < maxPlace:
			p.rest = text
		}
	}
	if err := p.pass(text[:len(text)-len(p.rest)]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(p.w, p.Show(string(text)))
	return err
}

// End passes on what is left.
func (p *Writer) End() {
	if len(p.rest) > 0 {
		_ = p.pass(p.rest)
		p.rest = nil
	}
}
