package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Rewind makes the state of an earlier number the newest, and returns its new
// number.
func (s *Store) Rewind(ctx context.Context, name string, to int) (number int, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		old, err := x.past(to)
		if err != nil {
			return err
		}
		back := old.next(fmt.Sprintf("rewind to %d", to))
		err = x.commit(back)
		number = back.Number
		return err
	})
	return number, err
}

// past returns a state of the history.
func (x *session) past(n int) (*state, error) {
	if n == x.now.Number || n == 0 {
		return x.now, nil
	}
	s, err := x.state(n)
	if err == nil {
		return s, nil
	}
	numbers, listed := x.numbers()
	if errors.Is(err, fs.ErrNotExist) && len(numbers) > 0 {
		return nil, refuse("The session %q has no state %d: its history has %d to %d.", x.name, n, numbers[0], numbers[len(numbers)-1])
	}
	return nil, errors.Join(fmt.Errorf("read state %d of the session %s: %w", n, x.name, err), listed)
}

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
		if err := a.link(b, old); err != nil {
			return fmt.Errorf("fork the session %s: %w", from, err)
		}
		fork := old.next(fmt.Sprintf("fork of %s at %d", from, old.Number))
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

// Reset empties a session: no files, no variables. Its history stays.
func (s *Store) Reset(ctx context.Context, name string) error {
	return s.locked(ctx, name, false, func(x *session) error { return x.commit(&state{Action: "reset"}) })
}

// Close removes a session with its history.
func (s *Store) Close(ctx context.Context, name string) error {
	return s.locked(ctx, name, false, (*session).remove)
}
