package pyodide

import (
	"context"
	"runtime"
	"time"

	"coderunner/internal/pool"
)

// Instances are made before they are asked for, and used again: to make one
// what the snapshot is takes a fifth of what a new one takes. See instance.reset
// and package pool.

const (
	// maxIdleTime is how long an instance waits for its next interpreter.
	maxIdleTime = 5 * time.Minute
	// returnTime is how soon most programs end: before, none is made in place of
	// the instance that they have.
	returnTime = 20 * time.Millisecond
)

// poolKey says what an instance is good for.
type poolKey struct {
	from   *Snapshot
	memory int64
}

// instances is the pool.
type instances struct {
	*pool.Pool[poolKey, *instance]
}

func newInstances(r *Runtime, maxIdle int) instances {
	return instances{pool.New(pool.Options[poolKey, *instance]{
		New: func(ctx context.Context, key poolKey) (*instance, error) {
			in, err := r.restore(ctx, key.from, key.memory)
			if err == nil {
				in.key = key
			}
			return in, err
		},
		Reset:       func(in *instance) (*instance, error) { return in, in.reset() },
		Close:       func(in *instance) { in.close() }, // as well as can be
		MaxIdle:     maxIdle,
		MaxUsed:     runtime.GOMAXPROCS(0),
		MaxIdleTime: maxIdleTime,
		Return:      returnTime,
	})}
}

// lease takes an instance of a snapshot out of the pool.
func (p instances) lease(ctx context.Context, from *Snapshot, memory int64) (*instance, error) {
	key := poolKey{from, memory}
	in, err := p.Get(ctx, key)
	p.Fill(key)
	return in, err
}

// giveBack takes the instance of an interpreter that was closed: into the pool,
// if it can serve another one.
func (p instances) giveBack(in *instance) error {
	key := in.key
	if key.from == nil {
		return in.close()
	}
	if in.dead || !in.reusable() || !in.detach() {
		p.Discard(key)
		return in.close()
	}
	p.Put(key, in)
	if key.from.closed.Load() { // perhaps after the pool was told
		p.drop(key.from)
	}
	return nil
}

// drop closes what waits in the pool for interpreters of a snapshot.
func (p instances) drop(from *Snapshot) {
	p.Drop(func(key poolKey) bool { return key.from == from })
}
