package intercept

import (
	"io"
	"strings"
	"sync"
)

// reader returns a reader of r in which secrets are replaced, also those that come
// in pieces. What may be the beginning of one is held back until more comes.
func (s *Secrets) reader(r io.Reader) io.Reader { return &redactReader{s: s, r: r} }

type redactReader struct {
	s    *Secrets
	r    io.Reader
	held string // read, and perhaps the beginning of a secret
	out  string // replaced
	err  error
}

func (r *redactReader) Read(p []byte) (int, error) {
	for r.out == "" {
		if r.err != nil {
			return 0, r.err
		}
		b := make([]byte, 32<<10)
		n, err := r.r.Read(b)
		r.err = err
		r.out, r.held = r.s.split(r.held+string(b[:n]), err != nil)
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Writer returns a writer to w in which secrets are replaced, also those that come
// in pieces; close passes on what is held back. A nil Secrets returns w.
func (s *Secrets) Writer(w io.Writer) (out io.Writer, close func()) {
	if s == nil {
		return w, func() {}
	}
	r := &redactWriter{s: s, w: w}
	return r, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.held != "" {
			_, _ = io.WriteString(w, r.held)
			r.held = ""
		}
	}
}

type redactWriter struct {
	s *Secrets
	w io.Writer

	mu   sync.Mutex // guards held, and the order of writes
	held string
}

func (r *redactWriter) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out string
	out, r.held = r.s.split(r.held+string(p), false)
	if out == "" {
		return len(p), nil
	}
	if _, err := io.WriteString(r.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// split returns a text with its secrets replaced, and its end, which may be the
// beginning of one, unless nothing follows.
func (s *Secrets) split(text string, last bool) (out, held string) {
	text = s.Redact(text)
	if last {
		return text, ""
	}
	cut := len(text)
	for _, p := range s.patterns {
		for n := min(len(p)-1, len(text)); n > len(text)-cut; n-- {
			if strings.HasSuffix(text, p[:n]) {
				cut = len(text) - n
				break
			}
		}
	}
	return text[:cut], text[cut:]
}
