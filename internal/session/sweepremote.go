package session

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// sweepRemote removes the sessions in the remote store that are past their time, by the
// store's own clock, and what belongs to none. It returns the sizes of the others.
func (s *Store) sweepRemote(ctx context.Context) (map[string]int64, error) {
	objects, err := s.remote.List(ctx, s.namespace+"/")
	if err != nil {
		return nil, remoteError(err)
	}
	sizes, newest := map[string]int64{}, map[string]time.Time{}
	lives := map[string]map[string][]Object{}
	var now time.Time // of the store: at least that of its newest object
	for _, o := range objects {
		parts := strings.Split(strings.TrimPrefix(o.Key, s.namespace+"/"), "/")
		if len(parts) < 2 || !namePattern.MatchString(parts[0]) {
			continue
		}
		name := parts[0]
		sizes[name] += o.Size
		if o.Changed.After(newest[name]) {
			newest[name] = o.Changed
		}
		if o.Changed.After(now) {
			now = o.Changed
		}
		if lives[name] == nil {
			lives[name] = map[string][]Object{}
		}
		if len(parts) > 2 {
			lives[name][parts[1]] = append(lives[name][parts[1]], o)
		}
	}
	for name := range newest {
		s.sweepStray(ctx, name, lives[name], now)
		if now.Sub(newest[name]) > s.limits.TTL {
			at, cancel := context.WithTimeout(ctx, leaseTime/4)
			err := s.locked(at, name, false, (*session).remove)
			cancel()
			s.log.Info("a session is past its time", zap.String("session", name), zap.Error(err))
			delete(sizes, name)
		}
	}
	s.collectBases(ctx, objects, now)
	return sizes, nil
}

// sweepStray removes what lives of a session left that are not in force.
func (s *Store) sweepStray(ctx context.Context, name string, lives map[string][]Object, now time.Time) {
	h, _, err := s.readHead(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	for life, objects := range lives {
		old := !slices.ContainsFunc(objects, func(o Object) bool { return now.Sub(o.Changed) < strayTime })
		if life != h.Life && old {
			if err := s.remote.Delete(ctx, keysOf(objects)); err != nil {
				s.log.Warn("remove what belongs to no session", zap.String("session", name), zap.Error(err))
			}
		}
	}
}
