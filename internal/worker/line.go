package worker

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"coderunner/internal/worker/wire"
)

// line is a run's connection to its worker.
type line struct {
	conn *wire.Conn
	run  atomic.Pointer[served] // nil: none
	dir  string                 // for what a session saves, empty and in the worker's directory; "": none yet
}

// maxLines bounds the lines of a worker that wait for a run.
const maxLines = 8

// line returns a line for a run: one of an earlier run, or a new one.
func (w *worker) line(s *served) (*line, error) {
	select {
	case l := <-w.lines:
		s.conn = l.conn
		l.run.Store(s)
		return l, nil
	default:
	}
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	l := &line{}
	l.run.Store(s)
	l.conn = wire.New(ours, wire.Options{Serve: l.serve, Note: l.note, EncodeError: encodeError, DecodeError: decodeError})
	s.conn = l.conn
	l.conn.Start()
	if err := w.conn.Note(noteRun, nil, theirs); err != nil {
		l.conn.Close()
		return nil, err
	}
	return l, nil
}

// saveDir returns an empty directory of the worker for what a run's session saves.
func (l *line) saveDir(w *worker) (dir string, err error) {
	if dir, l.dir = l.dir, ""; dir == "" {
		dir, err = os.MkdirTemp(w.written(), "session-")
	}
	return dir, err
}

// keep keeps a line whose run has ended, once nothing is served on it.
func (w *worker) keep(l *line) {
	l.conn.Settle()
	l.run.Store(nil)
	select {
	case <-l.conn.Done():
		l.conn.Close()
		return
	default:
	}
	select {
	case w.lines <- l:
	default:
		l.conn.Close()
	}
}

// drain ends lines that wait, but for some.
func (w *worker) drain(but int) {
	for len(w.lines) > but {
		select {
		case l := <-w.lines:
			l.conn.End()
		default:
		}
	}
}

func (l *line) serve(ctx context.Context, method uint8, body []byte) (any, *os.File, error) {
	s := l.run.Load()
	if s == nil {
		return nil, nil, errors.New("the run has ended")
	}
	return s.serve(ctx, method, body)
}

func (l *line) note(method uint8, body []byte, _ *os.File) {
	if s := l.run.Load(); s != nil {
		s.note(method, body)
	}
}
