package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// trim removes the oldest states beyond the limits of the history. It does not
// look at each state after each call.
func (x *session) trim() error {
	if more := x.limits.History/4 + 1; x.now.Number%more != 0 && x.bytes <= x.limits.Size {
		return nil
	}
	numbers, err := x.numbers()
	if err != nil {
		return err
	}
	if len(numbers) > x.limits.History+x.limits.History/4 {
		err = x.keep(x.limits.History)
		x.bytes = x.size()
	}
	for n := min(len(numbers), x.limits.History); n > 1 && err == nil && x.bytes > x.limits.Size; n /= 2 {
		err = x.keep(n / 2)
		x.bytes = x.size()
	}
	return err
}

// keep removes all states but the newest n, and the blobs that these do not need.
func (x *session) keep(n int) error {
	numbers, err := x.numbers()
	if err != nil || len(numbers) <= n {
		return err
	}
	for _, old := range numbers[:len(numbers)-n] {
		if err := x.spareState(old); err != nil {
			return err
		}
	}
	needed, needs := x.now.blobs(), x.was.needs
	maps.DeleteFunc(needs, func(old int, _ map[string]int64) bool { return old < numbers[len(numbers)-n] })
	spare := func(e fs.DirEntry) bool { _, ok := needed[e.Name()]; return !ok }
	entries, err := os.ReadDir(filepath.Join(x.path, blobsName))
	if x.lease == nil && !slices.ContainsFunc(entries, spare) {
		return err
	}
	for _, kept := range numbers[len(numbers)-n:] {
		if b, ok := needs[kept]; ok {
			maps.Copy(needed, b)
		} else if s, err := x.manifest(kept); err == nil { // else it is damaged
			maps.Copy(needed, s.blobs())
		}
	}
	for _, e := range entries {
		if spare(e) {
			err = errors.Join(err, os.Remove(x.blob(e.Name())))
		}
	}
	x.thinRemote(numbers[:len(numbers)-n], needed)
	return err
}

// maxSpare bounds the files that are kept for states to come.
const maxSpare = 16

// spareState removes a state from the history, and keeps its file for one to come.
func (x *session) spareState(n int) error {
	if x.lease != nil || len(x.was.spare) >= maxSpare {
		return os.Remove(x.statePath(n))
	}
	temp := x.temp()
	if err := os.Rename(x.statePath(n), temp); err != nil {
		return err
	}
	x.was.spare = append(x.was.spare, temp)
	return nil
}
