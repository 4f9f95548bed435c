package session

import (
	"context"
	"errors"
	"fmt"
)

// Fork makes a session of a state of another: the one in force if n is 0.
func (s *Store) Fork(ctx context.Context, from, to string, n int) error {
	if err := CheckName(to); err != nil {
		return refuse(`"to" must be a name of at most 64 letters, digits, ".", "_" and "-".`)
	}
	if from == to {
		return refuse("A session cannot be forked to itself: give the copy another name.")
	}
	copy := func(a, b *session) error {
		if b.now.Number > 0 {
			return refuse("There is a session %q already: close it, or give the copy another name.", to)
		}
		old, err := a.past(n)
		if err != nil {
			return err
		}
		fork := old.next(fmt.Sprintf("fork of %s at %d", from, old.Number))
		if err := a.link(b, fork); err != nil {
			return fmt.Errorf("fork the session %s: %w", from, err)
		}
		b.now = &state{Number: old.Number}
		return b.commit(fork)
	}
	if from < to {
		return s.locked(ctx, from, false, func(a *session) error {
			return s.locked(ctx, to, true, func(b *session) error { return b.undone(copy(a, b)) })
		})
	}
	return s.locked(ctx, to, true, func(b *session) error {
		return b.undone(s.locked(ctx, from, false, func(a *session) error { return copy(a, b) }))
	})
}

// undone removes a new session that has got no state.
func (x *session) undone(err error) error {
	if numbers, listed := x.numbers(); listed == nil && len(numbers) == 0 {
		return errors.Join(err, x.remove())
	}
	return err
}
