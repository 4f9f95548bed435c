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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// basesName is the directory of shared blobs in the remote store.
	basesName = ".bases"
	// pointerName is the object beside the copies of a shared blob that names one.
	pointerName = "now"
)

// pointer names the copy of a shared blob that is in force. RATIONALE.md has the protocol; it
// rests on these: a pointer is only replaced by its tag, a copy is there before a pointer
// names it, no name comes twice, and a copy is removed when no pointer can name it any more.
type pointer struct {
	Copy  string `json:"copy,omitempty"`  // "": none
	Going bool   `json:"going,omitempty"` // who looks for states that need the blob removes it if there are none
	Nonce string `json:"nonce"`           // so that no tag comes twice
}

func (s *Store) baseKey(sum, name string) string { return path.Join(s.namespace, basesName, sum, name) }

// readPointer returns the pointer of a shared blob, and the condition to replace it.
func (s *Store) readPointer(ctx context.Context, sum string) (p pointer, only Condition, err error) {
	b, tag, err := s.readObject(ctx, s.baseKey(sum, pointerName), maxHead)
	if errors.Is(err, fs.ErrNotExist) {
		return p, IfAbsent, nil
	}
	if err == nil && (json.Unmarshal(b, &p) != nil || p.Copy != "" && !namePattern.MatchString(p.Copy)) {
		err = fmt.Errorf("the pointer of the blob %s is damaged", sum)
	}
	return p, Condition(tag), err
}

// writePointer replaces a pointer, and returns the condition to replace it again.
func (s *Store) writePointer(ctx context.Context, sum string, p pointer, only Condition) (Condition, error) {
	p.Nonce = rand.Text()
	b, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	tag, err := s.remote.Put(ctx, s.baseKey(sum, pointerName), bytes.NewReader(b), int64(len(b)), only)
	if errors.Is(err, ErrConflict) {
		if now, is, readErr := s.readPointer(ctx, sum); readErr == nil && now == p {
			return is, nil // the answer to the first attempt was lost
		}
	}
	return Condition(tag), remoteError(err)
}

// secureBase sees to it that a shared blob is in the remote store and is not being
// removed. Who puts a manifest that needs it does so before, with touch, so that nobody
// begins to remove it for long, and after: who removes it and did not see the
// manifest then fails, or has done it already.
func (x *session) secureBase(ctx context.Context, name string, size int64, touch bool) error {
	sum := strings.TrimPrefix(name, sharedPrefix)
	for ; ; touch = false { // after a conflict: somebody else has written it
		p, only, err := x.readPointer(ctx, sum)
		if err != nil || p.Copy != "" && !p.Going && !touch {
			return err
		}
		p.Going = false
		if p.Copy == "" {
			p.Copy = rand.Text()
			if err := x.upload(ctx, name, x.baseKey(sum, p.Copy), size); err != nil {
				return err
			}
		}
		if _, err = x.writePointer(ctx, sum, p, only); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// openBase opens the copy of a shared blob that is in force.
func (s *Store) openBase(ctx context.Context, sum string) (r io.ReadCloser, err error) {
	for range 4 { // it may be removed and made again meanwhile
		p, _, err := s.readPointer(ctx, sum)
		if err != nil {
			return nil, err
		}
		if p.Copy == "" {
			break
		}
		r, _, err := s.remote.Get(ctx, s.baseKey(sum, p.Copy))
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, fs.ErrNotExist
}

// base is a shared blob that may be removed, or has copies that may.
type base struct {
	sum    string
	old    bool     // its pointer has not changed for long
	copies []Object // some time before p was written
	p      pointer
	only   Condition
}

// collectBases removes the shared blobs that no state needs and that were not written for
// longer than sessions live, and copies that were never in force. now is the time of
// the remote store.
func (s *Store) collectBases(ctx context.Context, objects []Object, now time.Time) {
	due := s.dueBases(objects, now)
	going := map[string]bool{}
	due = slices.DeleteFunc(due, func(b *base) bool {
		var err error
		if b.p, b.only, err = s.readPointer(ctx, b.sum); err == nil && b.old {
			b.old, err = s.untouched(ctx, b.sum, now) // since it was read
		}
		if err == nil {
			b.p.Going = b.old && b.p.Copy != ""
			b.only, err = s.writePointer(ctx, b.sum, b.p, b.only)
		}
		if err != nil {
			s.log.Info("a shared blob is left alone", zap.String("blob", b.sum), zap.Error(err))
		} else if b.p.Going {
			going[b.sum] = true
		}
		return err != nil
	})
	if err := s.findNeeded(ctx, going); err != nil {
		s.log.Warn("look for states that need shared blobs", zap.Error(err))
		clear(going)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
	defer cancel()
	for _, b := range due {
		if b.p.Going {
			if b.p.Going = false; going[b.sum] {
				b.p.Copy = ""
			}
			if _, err := s.writePointer(ctx, b.sum, b.p, b.only); err != nil {
				continue // somebody needs it
			}
		}
		stray := slices.DeleteFunc(keysOf(b.copies), func(key string) bool { return path.Base(key) == b.p.Copy })
		err := s.remote.Delete(ctx, stray)
		s.log.Info("copies of a shared blob are removed", zap.String("blob", b.sum), zap.Int("copies", len(stray)), zap.Error(err))
	}
}

// untouched reports whether a pointer is as old as one must be to be removed.
func (s *Store) untouched(ctx context.Context, sum string, now time.Time) (bool, error) {
	list, err := s.remote.List(ctx, s.baseKey(sum, pointerName))
	return len(list) == 1 && now.Sub(list[0].Changed) > s.limits.TTL+strayTime, remoteError(err)
}

// dueBases returns the shared blobs that have something to remove, by a list of objects.
func (s *Store) dueBases(objects []Object, now time.Time) (due []*base) {
	bases, changed := map[string]*base{}, map[string]time.Time{}
	for _, o := range objects {
		sum, name, ok := strings.Cut(strings.TrimPrefix(o.Key, path.Join(s.namespace, basesName)+"/"), "/")
		if !ok || !validDigest(sum) {
			continue
		}
		if bases[sum] == nil {
			bases[sum] = &base{sum: sum}
		}
		if name == pointerName {
			changed[sum] = o.Changed
		} else if now.Sub(o.Changed) > strayTime {
			bases[sum].copies = append(bases[sum].copies, o)
		}
	}
	for sum, b := range bases {
		at, pointed := changed[sum]
		b.old = pointed && now.Sub(at) > s.limits.TTL+strayTime
		if len(b.copies) > 1 || len(b.copies) == 1 && (b.old || !pointed) {
			due = append(due, b)
		}
	}
	return due
}

// findNeeded removes from a set the shared blobs that a state needs. It looks at the
// newest state of each session first, since most sessions share few blobs.
func (s *Store) findNeeded(ctx context.Context, sums map[string]bool) error {
	if len(sums) == 0 {
		return nil
	}
	objects, err := s.remote.List(ctx, s.namespace+"/")
	if err != nil {
		return remoteError(err)
	}
	lives := map[string]*session{}
	for _, o := range objects {
		if parts := strings.Split(strings.TrimPrefix(o.Key, s.namespace+"/"), "/"); len(parts) == 4 && parts[2] == statesName {
			x := s.session(parts[0])
			x.lease = &lease{life: parts[1]}
			lives[parts[0]+"/"+parts[1]] = x
		}
	}
	needed := make(chan string)
	var g errgroup.Group
	g.SetLimit(transfers)
	go func() {
		for _, x := range lives {
			g.Go(func() error { return x.findBases(ctx, needed) })
		}
		err = g.Wait()
		close(needed)
	}()
	for sum := range needed {
		delete(sums, sum)
	}
	return err
}

// findBases sends the shared blobs that the states of a life of a session need. States may
// be added meanwhile, which need nothing but what the newest does and what was
// secured after them, and the oldest removed.
func (x *session) findBases(ctx context.Context, needed chan<- string) error {
	for {
		numbers, err := x.remoteNumbers(ctx, x.lease.life)
		if err != nil || len(numbers) == 0 {
			return err
		}
		again := false
		for i, n := range slices.Backward(numbers) {
			b, _, err := x.readObject(ctx, x.key(statesName, stateName(n)), maxManifest)
			if errors.Is(err, fs.ErrNotExist) {
				if again = i == len(numbers)-1; again {
					break
				}
				continue
			}
			if err != nil {
				return err
			}
			s, err := parseState(b)
			if err != nil {
				return err
			}
			for name := range s.blobs() {
				if sum, ok := strings.CutPrefix(name, sharedPrefix); ok {
					needed <- sum
				}
			}
		}
		if !again {
			return nil
		}
	}
}

// sweepShared removes copies of shared blobs from the disk, where sessions of a remote
// store have links to them.
func (s *Store) sweepShared() {
	copies, _ := filepath.Glob(filepath.Join(s.dir, sharedName, "*"))
	for _, file := range copies {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > s.limits.TTL {
			_ = os.Remove(file) // it is fetched again
		}
	}
}
