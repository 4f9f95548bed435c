//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"syscall"
)

// Probe says that nothing can be done here.
func Probe() Level {
	return Level{Name: None, Missing: []string{"this system has nothing that an unprivileged process can be confined by, so Deno's permissions stand alone"}}
}

// Start calls start.
func Start(_ Spec, _ <-chan struct{}, start func(trace bool) (pid int, err error)) error {
	_, err := start(false)
	return err
}

// Group is a control group. There are none here: it is always nil.
type Group struct{}

var errNoGroups = errors.New("this system has none")

// Delegated says why there can be no control groups.
func Delegated() error { return errNoGroups }

// NewGroup makes none.
func NewGroup(int) (*Group, error) { return nil, errNoGroups }

// Place does nothing.
func (g *Group) Place(*syscall.SysProcAttr) {}

// LimitMemory does nothing.
func (g *Group) LimitMemory(int64) error { return nil }

// Refused says that nothing was.
func (g *Group) Refused() (memory, tasks bool) { return false, false }

// Close does nothing.
func (g *Group) Close() error { return nil }
