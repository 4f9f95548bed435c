package pyodide

import (
	"context"
	"runtime"
	"slices"
	"time"

	"coderunner/internal/pool"
)

// The pool keeps restored instances and resets used ones, which costs a fifth of
// a restore. See instance.reset and package pool.

const (
	// maxIdleTime is how long an instance waits for its next interpreter.
	maxIdleTime = 5 * time.Minute
	// returnTime is how long Fill waits for a leased instance to return before it
	// makes another.
	returnTime = 20 * time.Millisecond
)

// instances is the pool.
type instances struct {
	*pool.Pool[poolKey, *instance]
}

func newInstances(r *compiled, maxIdle int) instances {
	return instances{pool.New(pool.Options[poolKey, *instance]{
		New: func(ctx context.Context, key poolKey) (*instance, error) {
			in, err := r.restore(ctx, key.from, key.memory)
			if err == nil {
				in.key = key
			}
			return in, err
		},
		Reset:       func(in *instance) (*instance, error) { return in, in.reset() },
		Close:       func(in *instance) { in.close() }, // nobody to report an error to
		MaxIdle:     maxIdle,
		MaxUsed:     2 * runtime.GOMAXPROCS(0),
		MaxIdleTime: maxIdleTime,
		Return:      returnTime,
	})}
}

// lease takes an instance of a snapshot from the pool.
func (p instances) lease(ctx context.Context, from *Snapshot, memory int64) (*instance, error) {
	key := poolKey{from, memory}
	in, err := p.Get(ctx, key)
	p.Fill(key)
	return in, err
}

// giveBack returns the instance of a closed interpreter to the pool, or closes it
// if it cannot be reused.
func (p instances) giveBack(in *instance) error {
	key := in.key
	if key.from == nil {
		return in.close()
	}
	if in.dead || !in.reusable() || slices.ContainsFunc(in.linking.used, in.compiled.link.shared.outdated) || !in.detach() {
		p.Discard(key)
		return in.close()
	}
	p.Put(key, in)
	if key.from.closed.Load() { // perhaps after drop
		p.drop(key.from)
	}
	return nil
}

// drop closes the pool's idle instances of a snapshot.
func (p instances) drop(from *Snapshot) {
	p.Drop(func(key poolKey) bool { return key.from == from })
}
