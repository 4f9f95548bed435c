package intercept

import (
	"io"
	"sync"
	"time"
)

// How long nothing may follow until the end of a text is passed on. What is held back
// until then is always as much as the longest secret: if it were what may be the
// beginning of one, a program would learn by the delay whether a guess is right. A host
// that pauses for longer in the middle of a secret shows it.
const (
	quietHost   = time.Second
	quietOutput = 100 * time.Millisecond // a program that could print a secret in pieces has it
)

// reader returns a reader of r in which secrets are replaced, also those that come in
// pieces. End is called when all of r was read.
func (s *Secrets) reader(r io.ReadCloser, end func()) io.ReadCloser {
	out, in := io.Pipe()
	return &redactReader{PipeReader: out, from: r, begin: sync.OnceFunc(func() {
		w, flush := s.writer(in, quietHost)
		go func() {
			_, err := io.Copy(w, r)
			end()
			flush()
			in.CloseWithError(err)
		}()
	})}
}

type redactReader struct {
	*io.PipeReader
	from  io.Closer
	begin func() // nothing is read before
}

func (r *redactReader) Read(p []byte) (int, error) {
	r.begin()
	return r.PipeReader.Read(p)
}

func (r *redactReader) Close() error {
	_ = r.PipeReader.Close() // it ends the copying
	return r.from.Close()
}

// Writer returns a writer to w in which secrets are replaced, also those that come
// in pieces; close passes on what is held back. A nil Secrets returns w.
func (s *Secrets) Writer(w io.Writer) (out io.Writer, close func()) {
	if s == nil {
		return w, func() {}
	}
	return s.writer(w, quietOutput)
}

func (s *Secrets) writer(w io.Writer, quiet time.Duration) (out io.Writer, close func()) {
	r := &redactWriter{s: s, w: w, quiet: quiet}
	r.timer = time.AfterFunc(quiet, r.flush)
	return r, func() {
		r.timer.Stop()
		r.flush()
	}
}

type redactWriter struct {
	s     *Secrets
	w     io.Writer
	quiet time.Duration
	timer *time.Timer // flushes

	mu   sync.Mutex // guards what follows, and the order of writes
	held string     // the end of what was written
	err  error      // of w
}

func (r *redactWriter) Write(p []byte) (int, error) {
	r.timer.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.s.Redact(r.held + string(p))
	cut := max(len(text)-(r.s.longest-1), 0)
	r.held = text[cut:]
	r.pass(text[:cut])
	r.timer.Reset(r.quiet)
	return len(p), r.err
}

// flush passes on what is held back.
func (r *redactWriter) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := r.held
	r.held = ""
	r.pass(held)
}

func (r *redactWriter) pass(text string) {
	if text != "" && r.err == nil {
		_, r.err = io.WriteString(r.w, text)
	}
}
