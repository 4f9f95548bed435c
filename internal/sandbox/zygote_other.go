//go:build !linux || !amd64

package sandbox

import (
	"errors"
	"os"
)

// Zygote is a process that is forked, which there is none of here.
type Zygote struct{}

var errNoZygotes = errors.New("no process is forked on this system")

// CanFork returns why there can be no zygotes.
func CanFork() error { return errNoZygotes }

// StartZygote starts nothing.
func StartZygote(Spec, <-chan struct{}, func(trace bool, files []*os.File) (pid int, err error)) (*Zygote, error) {
	return nil, errNoZygotes
}

// Freeze does nothing.
func (*Zygote) Freeze([]*os.File) error { return errNoZygotes }

// Thaw does nothing.
func (*Zygote) Thaw() error { return errNoZygotes }

// Fork does nothing.
func (*Zygote) Fork(func(*Calls)) (pid int, pipes []*os.File, err error) { return 0, nil, errNoZygotes }

// Save does nothing.
func (*Zygote) Save(string) error { return errNoZygotes }

// Learn does nothing.
func (*Zygote) Learn(int) error { return errNoZygotes }

// Kill does nothing.
func (*Zygote) Kill() {}

// Snapshot is a zygote on disk, which there is none of here.
type Snapshot struct{}

// OpenSnapshot opens nothing.
func OpenSnapshot(string) (*Snapshot, error) { return nil, errNoZygotes }

// Close does nothing.
func (*Snapshot) Close() error { return nil }

// Restore starts nothing.
func Restore(Spec, *Snapshot, <-chan struct{}, func(trace bool, files []*os.File) (pid int, err error)) ([]*os.File, error) {
	return nil, errNoZygotes
}
