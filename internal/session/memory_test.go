package session_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/session"
)

// memory is a remote store of this process.
type memory struct {
	mu      sync.Mutex
	next    int
	objects map[string]kept
	skew    time.Duration // of its clock
}

type kept struct {
	data    []byte
	tag     string
	changed time.Time
}

func newMemory() *memory { return &memory{objects: map[string]kept{}} }

func (m *memory) Get(_ context.Context, key string) (io.ReadCloser, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(o.data)), o.tag, nil
}

func (m *memory) Put(_ context.Context, key string, data io.ReadSeeker, size int64, only session.Condition) (string, error) {
	b, err := io.ReadAll(data)
	if err != nil || int64(len(b)) != size {
		return "", fmt.Errorf("%d bytes instead of %d: %w", len(b), size, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if only == session.IfAbsent && ok || only != "" && only != session.IfAbsent && o.tag != string(only) {
		return "", session.ErrConflict
	}
	m.next++
	tag := fmt.Sprint(m.next)
	m.objects[key] = kept{b, tag, time.Now().Add(m.skew)}
	return tag, nil
}

func (m *memory) List(_ context.Context, prefix string) (out []session.Object, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(key, prefix) {
			out = append(out, session.Object{Key: key, Size: int64(len(m.objects[key].data)), Changed: m.objects[key].changed})
		}
	}
	return out, nil
}

func (m *memory) Names(ctx context.Context, prefix string) (out []string, err error) {
	list, err := m.List(ctx, prefix)
	for _, o := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, err
}

func (m *memory) Delete(_ context.Context, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.objects, key)
	}
	return nil
}

// link is the way of one server to a remote store.
type link struct {
	session.Remote
	// before is called before each request; after an error of it the store is not
	// asked. after is called after each; its error hides the answer. Both may be nil.
	before, after func(ctx context.Context, request string) error
}

func (l *link) do(ctx context.Context, request string, f func() error) error {
	if l.before != nil {
		if err := l.before(ctx, request); err != nil {
			return err
		}
	}
	err := f()
	if l.after != nil {
		if failed := l.after(ctx, request); failed != nil {
			return failed
		}
	}
	return err
}

func (l *link) Get(ctx context.Context, key string) (r io.ReadCloser, tag string, err error) {
	err = l.do(ctx, "get "+key, func() error { r, tag, err = l.Remote.Get(ctx, key); return err })
	return r, tag, err
}

func (l *link) Put(ctx context.Context, key string, data io.ReadSeeker, size int64, only session.Condition) (tag string, err error) {
	err = l.do(ctx, "put "+key, func() error { tag, err = l.Remote.Put(ctx, key, data, size, only); return err })
	return tag, err
}

func (l *link) List(ctx context.Context, prefix string) (out []session.Object, err error) {
	err = l.do(ctx, "list "+prefix, func() error { out, err = l.Remote.List(ctx, prefix); return err })
	return out, err
}

func (l *link) Delete(ctx context.Context, keys []string) error {
	return l.do(ctx, "delete", func() error { return l.Remote.Delete(ctx, keys) })
}
