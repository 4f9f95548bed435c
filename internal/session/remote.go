package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Remote keeps objects where other machines find them, as an S3-compatible store does. The
// sessions are then in it, and what is on disk is a copy that may vanish.
//
//	NAMESPACE/NAME/head               who has the session, and which life of it is in force
//	NAMESPACE/NAME/LIFE/states/…      as on disk
//	NAMESPACE/NAME/LIFE/blobs/…
//	NAMESPACE/.bases/SHA256/now       which copy of a blob that many sessions share is in force
//	NAMESPACE/.bases/SHA256/COPY
//
// Its methods are safe for concurrent use.
type Remote interface {
	// Get returns an object, which the caller closes, and its tag: another one after
	// each change. Without one, the error is fs.ErrNotExist.
	Get(ctx context.Context, key string) (data io.ReadCloser, tag string, err error)
	// Put makes or replaces an object if the condition holds, else the error is
	// ErrConflict. It returns the new tag.
	Put(ctx context.Context, key string, data io.ReadSeeker, size int64, only Condition) (tag string, err error)
	// List returns the objects whose keys begin with a prefix, in the order of their keys.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Names returns the next parts, up to a "/", of the keys that begin with a prefix.
	Names(ctx context.Context, prefix string) ([]string, error)
	// Delete removes objects, which may be gone already.
	Delete(ctx context.Context, keys []string) error
}

// Object is one in a list.
type Object struct {
	Key     string
	Size    int64
	Changed time.Time // by the store's clock
}

// Condition is what must hold for a Put: "" nothing, IfAbsent that there is no object,
// else that its tag is this.
type Condition string

// IfAbsent is a Condition.
const IfAbsent Condition = "*"

// ErrConflict is the error of a Put whose condition did not hold.
var ErrConflict = errors.New("somebody else wrote it first")

// errRemote is what went wrong when the remote store did not answer: nothing is known
// about the session, and certainly not that it is damaged.
var errRemote = errors.New("the store of sessions cannot be used")

// errLost is the cause of cancellation when another machine has taken a session over.
var errLost = errors.New("another server has taken the session over")

// leaseTime is how long the head of a session may stay as it is, seen by whoever waits for
// it, until its holder is taken to be dead. Clocks of machines are never compared.
const leaseTime = 12 * time.Second

// head is the object that says who has a session.
type head struct {
	Life   string `json:"life"`             // of the session: another one after it was closed and made again
	Holder string `json:"holder,omitempty"` // a random name for each call; "": nobody
	Beat   int    `json:"beat,omitempty"`   // counts while somebody has it, so that the tag changes
	State  int    `json:"state,omitempty"`  // the newest, if nobody has it
}

// lease is a session that this process has. A state is made only where there is none of
// its number, so one who has lost the lease without knowing cannot undo what came
// after: the lease saves work, and the condition keeps the order.
type lease struct {
	store *Store
	name  string
	life  string
	state int  // the newest when it was taken; 0: not known
	fresh bool // there was no session
	ctx   context.Context
	stop  context.CancelCauseFunc
	ended chan struct{} // the heartbeat has ended

	mu   sync.Mutex // held while the head is written
	head head
	tag  string
}

// maxHead bounds a head, in bytes.
const maxHead = 4096

func (s *Store) headKey(name string) string { return s.namespace + "/" + name + "/head" }

// readHead returns the head of a session.
func (s *Store) readHead(ctx context.Context, name string) (h head, tag string, err error) {
	b, tag, err := s.readObject(ctx, s.headKey(name), maxHead)
	if err == nil && (json.Unmarshal(b, &h) != nil || !namePattern.MatchString(h.Life)) {
		err = fmt.Errorf("the head of the session %s is damaged", name)
	}
	return h, tag, err
}

// readObject returns a small object.
func (s *Store) readObject(ctx context.Context, key string, limit int64) ([]byte, string, error) {
	r, tag, err := s.remote.Get(ctx, key)
	if err != nil {
		return nil, "", remoteError(err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", key, limit)
	}
	return b, tag, remoteError(err)
}

// remoteError marks what is not an answer.
func remoteError(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrConflict) || errors.Is(err, errRemote) {
		return err
	}
	return fmt.Errorf("%w: %w", errRemote, err)
}

// writeHead puts a head in the place of the one with a tag.
func (s *Store) writeHead(ctx context.Context, name string, h head, only Condition) (string, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return "", err
	}
	tag, err := s.remote.Put(ctx, s.headKey(name), bytes.NewReader(b), int64(len(b)), only)
	return tag, remoteError(err)
}

// take waits until nobody has a session and takes it. Without a session it is nil, unless
// create.
func (s *Store) take(ctx context.Context, name string, create bool) (*lease, error) {
	me := rand.Text()
	var seen string // the tag that another's head has, since when
	var since time.Time
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		h, tag, err := s.readHead(ctx, name)
		fresh := errors.Is(err, fs.ErrNotExist)
		switch {
		case fresh && !create:
			return nil, nil
		case fresh:
			h, tag = head{Life: rand.Text()[:16]}, string(IfAbsent)
		case err != nil:
			return nil, err
		case h.Holder == me: // the answer to a write was lost
			return s.hold(ctx, name, h, tag, false), nil
		case h.Holder != "" && tag != seen:
			seen, since = tag, time.Now()
			fallthrough
		case h.Holder != "" && time.Since(since) < leaseTime:
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
				timer.Stop()
				return nil, context.Cause(ctx)
			case <-timer.C:
			}
			continue
		case h.Holder != "":
			s.log.Warn("a session is taken from a server that has gone", zap.String("session", name))
			h.State = 0 // what is newest must be looked up
		}
		h.Holder, h.Beat = me, h.Beat+1
		switch tag, err := s.writeHead(ctx, name, h, Condition(tag)); {
		case err == nil:
			return s.hold(ctx, name, h, tag, fresh), nil
		case !errors.Is(err, ErrConflict):
			return nil, err
		}
	}
}

// hold returns the lease of a head that is this process's, and keeps it alive.
func (s *Store) hold(ctx context.Context, name string, h head, tag string, fresh bool) *lease {
	l := &lease{store: s, name: name, life: h.Life, state: h.State, head: h, tag: tag, fresh: fresh, ended: make(chan struct{})}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	go l.beat()
	return l
}

// beat writes the head anew until the lease ends or is lost.
func (l *lease) beat() {
	defer close(l.ended)
	ticker := time.NewTicker(leaseTime / 4)
	defer ticker.Stop()
	written := time.Now()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		next := l.head
		next.Beat++
		err := l.replace(l.ctx, next)
		l.mu.Unlock()
		switch {
		case err == nil:
			written = time.Now()
		case l.ctx.Err() != nil:
			return
		case errors.Is(err, ErrConflict) || time.Since(written) > leaseTime/2:
			l.store.log.Warn("a session is lost to another server", zap.String("session", l.name), zap.Error(err))
			l.stop(errLost)
			return
		}
	}
}

// replace writes the head. A write whose answer was lost counts. l.mu is held.
func (l *lease) replace(ctx context.Context, next head) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTime/4)
	defer cancel()
	tag, err := l.store.writeHead(ctx, l.name, next, Condition(l.tag))
	if errors.Is(err, ErrConflict) {
		if now, is, readErr := l.store.readHead(ctx, l.name); readErr == nil && now == next {
			tag, err = is, nil
		}
	}
	if err == nil {
		l.head, l.tag = next, tag
	}
	return err
}

// release gives the session up, whose newest state has a number; 0: not known. If it
// cannot be told, others find out when the lease has run out.
func (l *lease) release(state int) {
	l.stop(nil)
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tag == "" {
		return // the session is gone
	}
	if err := l.replace(context.WithoutCancel(l.ctx), head{Life: l.head.Life, Beat: l.head.Beat + 1, State: state}); err != nil {
		l.store.log.Warn("give a session up", zap.String("session", l.name), zap.Error(err))
	}
}

// remove removes the session for all: first its head, so that nobody begins to use it.
func (l *lease) remove() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := context.WithoutCancel(l.ctx)
	next := l.head
	next.Beat++
	if err := l.replace(ctx, next); err != nil { // is it still ours?
		return err
	}
	l.tag = ""
	s := l.store
	if err := s.remote.Delete(ctx, []string{s.headKey(l.name)}); err != nil {
		return remoteError(err)
	}
	objects, err := s.remote.List(ctx, s.namespace+"/"+l.name+"/"+l.head.Life+"/")
	if err == nil {
		err = s.remote.Delete(ctx, keysOf(objects))
	}
	if err != nil { // the sweep tries again
		s.log.Warn("remove what a session had", zap.String("session", l.name), zap.Error(err))
	}
	return nil
}

func keysOf(objects []Object) (keys []string) {
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}
