package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// lifeName is the file that says of which life of a session a copy is.
	lifeName = "life"
	// sharedName is the directory of blobs that sessions share.
	sharedName = ".shared"
	// transfers bounds the objects that are moved at a time.
	transfers = 8
	// strayTime is how long what belongs to no session may be there: somebody may be
	// making it.
	strayTime = time.Hour
)

// key returns the key of something of a session.
func (x *session) key(parts ...string) string {
	return path.Join(append([]string{x.namespace, x.name, x.lease.life}, parts...)...)
}

// acquire takes a session from the remote store, if there is one, and makes the copy on disk
// what is there. The caller calls done.
func (x *session) acquire(ctx context.Context, create bool) (done func(), err error) {
	if x.remote == nil {
		return func() {}, nil
	}
	if x.lease, err = x.take(ctx, x.name, create); err != nil {
		return nil, err
	}
	if x.lease == nil || x.lease.fresh {
		err = os.RemoveAll(x.path) // it was closed elsewhere
		if x.lease == nil {
			return func() {}, err
		}
	}
	if err == nil && !x.lease.fresh {
		err = x.pull(ctx)
	}
	if err != nil {
		x.lease.release(0)
		return nil, err
	}
	return func() {
		number := 0 // a call that failed may have made a state, or not
		if x.committed {
			number = x.now.Number
		}
		x.lease.release(number)
	}, nil
}

// pull brings the manifests of a session here. Blobs come when a state is used.
func (x *session) pull(ctx context.Context) error {
	life, _ := os.ReadFile(filepath.Join(x.path, lifeName)) // without one it is no copy
	if string(life) != x.lease.life {
		if err := os.RemoveAll(x.path); err != nil {
			return err
		}
	}
	if err := x.make(); err != nil {
		return err
	}
	have, err := x.numbers()
	if err != nil {
		return err
	}
	if n := x.lease.state; n > 0 && len(have) > 0 && have[len(have)-1] == n {
		return nil
	}
	there, err := x.remoteNumbers(ctx, x.lease.life)
	if err != nil {
		return err
	}
	for _, n := range have {
		if !slices.Contains(there, n) {
			if err := os.Remove(x.statePath(n)); err != nil {
				return err
			}
		}
	}
	var g errgroup.Group
	g.SetLimit(transfers)
	for _, n := range there {
		if !slices.Contains(have, n) {
			g.Go(func() error { return x.pullState(ctx, n) })
		}
	}
	return g.Wait()
}

func (x *session) statePath(n int) string { return filepath.Join(x.path, statesName, stateName(n)) }

// remoteNumbers returns the numbers of the states in the remote store, ascending.
func (x *session) remoteNumbers(ctx context.Context, life string) (numbers []int, err error) {
	objects, err := x.remote.List(ctx, path.Join(x.namespace, x.name, life, statesName)+"/")
	for _, o := range objects {
		if n, err := strconv.Atoi(path.Base(o.Key)); err == nil && n > 0 && stateName(n) == path.Base(o.Key) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, remoteError(err)
}

func (x *session) pullState(ctx context.Context, n int) error {
	b, _, err := x.readObject(ctx, x.key(statesName, stateName(n)), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the history was thinned
	}
	temp := x.temp()
	if err == nil {
		err = os.WriteFile(temp, b, 0o400)
	}
	if err == nil {
		err = os.Rename(temp, x.statePath(n))
	}
	return err
}

// fetchMissing brings the blobs of a state that are not here.
func (x *session) fetchMissing(s *state) error {
	if x.lease == nil {
		return nil
	}
	var g errgroup.Group
	g.SetLimit(transfers)
	for name, size := range s.blobs() {
		if _, err := os.Lstat(x.blob(name)); errors.Is(err, fs.ErrNotExist) {
			g.Go(func() error { return x.fetch(name, size) })
		}
	}
	return g.Wait()
}

// fetch brings a blob here.
func (x *session) fetch(name string, size int64) error {
	shared := ""
	if sum, ok := strings.CutPrefix(name, sharedPrefix); ok {
		shared = filepath.Join(x.dir, sharedName, sum)
		if err := os.Link(shared, x.blob(name)); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(shared), 0o700); err != nil {
			return err
		}
	}
	var r io.ReadCloser
	var err error
	if shared != "" {
		r, err = x.openBase(x.lease.ctx, filepath.Base(shared))
	} else {
		r, _, err = x.remote.Get(x.lease.ctx, x.key(blobsName, name))
	}
	if err != nil {
		return remoteError(err)
	}
	defer r.Close()
	temp := x.temp()
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, size+1))
	if err = errors.Join(remoteError(err), f.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != size || got != strings.TrimPrefix(name, sharedPrefix) {
		return fmt.Errorf("blob %s has %d bytes and the digest %s", name, n, got)
	}
	if shared != "" {
		if err := os.Link(temp, shared); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.Rename(temp, x.blob(name))
}

// push puts a state that is to be in force into the remote store: blobs first. A state of
// this number that somebody else has made meanwhile is left alone.
func (x *session) push(s *state, parts [][]byte) error {
	if x.lease == nil {
		return nil
	}
	manifest := slices.Concat(parts...)
	g, ctx := errgroup.WithContext(x.lease.ctx)
	g.SetLimit(transfers)
	before, shared := x.now.blobs(), map[string]int64{}
	for name, size := range s.blobs() {
		if _, ok := before[name]; ok {
			continue
		}
		if strings.HasPrefix(name, sharedPrefix) {
			shared[name] = size
		}
		g.Go(func() error { return x.pushBlob(ctx, name, size) })
	}
	if err := g.Wait(); err != nil {
		return errors.Join(err, context.Cause(x.lease.ctx))
	}
	key := x.key(statesName, stateName(s.Number))
	_, err := x.remote.Put(x.lease.ctx, key, bytes.NewReader(manifest), int64(len(manifest)), IfAbsent)
	if errors.Is(err, ErrConflict) {
		if is, _, readErr := x.readObject(x.lease.ctx, key, maxState); readErr != nil || !bytes.Equal(is, manifest) {
			return refuse("The session %q was continued by another server while this call ran; nothing of this call is kept. Run it again.", x.name)
		}
		err = nil // the answer to the first attempt was lost
	}
	for name, size := range shared {
		if err == nil {
			err = x.secureBase(x.lease.ctx, name, size, false)
		}
	}
	return remoteError(err)
}

// pushBlob puts a blob into the remote store, unless it is there.
func (x *session) pushBlob(ctx context.Context, name string, size int64) error {
	if strings.HasPrefix(name, sharedPrefix) {
		return x.secureBase(ctx, name, size, true)
	}
	return x.upload(ctx, name, x.key(blobsName, name), size)
}

// upload puts a blob that is on disk into the remote store, unless it is there.
func (x *session) upload(ctx context.Context, name, key string, size int64) error {
	f, err := openRegular(x.blob(name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := x.remote.Put(ctx, key, f, size, IfAbsent); err != nil && !errors.Is(err, ErrConflict) {
		return remoteError(err)
	}
	return nil
}

// thinRemote removes states from the remote store, and the blobs that are not needed.
func (x *session) thinRemote(states []int, needed map[string]int64) {
	if x.lease == nil {
		return
	}
	var keys []string
	for _, n := range states {
		keys = append(keys, x.key(statesName, stateName(n)))
	}
	blobs, err := x.remote.List(x.lease.ctx, x.key(blobsName)+"/")
	for _, o := range blobs {
		if _, ok := needed[path.Base(o.Key)]; !ok {
			keys = append(keys, o.Key)
		}
	}
	if err = errors.Join(err, x.remote.Delete(x.lease.ctx, keys)); err != nil {
		x.log.Warn("thin the history of a session", zap.String("session", x.name), zap.Error(err))
	}
}

// describeRemote reads what is in the remote store, without taking the session.
func (s *Store) describeRemote(ctx context.Context, name string, history int) (Info, error) {
	h, _, err := s.readHead(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{Name: name}, nil
	}
	if err != nil {
		return Info{}, err
	}
	x := s.session(name)
	x.lease = &lease{life: h.Life}
	numbers, err := x.remoteNumbers(ctx, h.Life)
	if err != nil {
		return Info{}, err
	}
	return describe(name, numbers, history, func(n int) (*state, error) {
		b, _, err := x.readObject(ctx, x.key(statesName, stateName(n)), maxManifest)
		if err != nil {
			return nil, err
		}
		now, err := parseState(b)
		if err == nil {
			err = x.owns(now, n)
		}
		return now, err
	})
}
