//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"syscall"
)

// Probe returns None.
func Probe() Level {
	return Level{Name: None, Missing: []string{"this system has nothing that an unprivileged process can be confined by, so Deno's permissions stand alone"}}
}

// ABI returns 0.
func ABI() int { return 0 }

// Start calls start.
func Start(_ Spec, _ <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) error {
	_, err := start(false, nil)
	return err
}

// Group is a control group, which is always nil here.
type Group struct{}

var errNoGroups = errors.New("this system has none")

// Delegated returns the reason why there are no control groups.
func Delegated() error { return errNoGroups }

// NewGroup makes none.
func NewGroup(int) (*Group, error) { return nil, errNoGroups }

// Place does nothing.
func (g *Group) Place(*syscall.SysProcAttr) {}

// LimitMemory does nothing.
func (g *Group) LimitMemory(int64) error { return nil }

// Refused returns false.
func (g *Group) Refused() (memory, tasks bool) { return false, false }

// Close does nothing.
func (g *Group) Close() error { return nil }

// Calls are the supervised system calls of a process: none here.
type Calls struct{}

// Supervised returns why Spec.Supervise is not called.
func Supervised() error { return errors.New("this system has no supervision of system calls") }

// OwnNetwork returns why Spec.Loopback has no effect.
func OwnNetwork() error { return errors.New("this system has no network namespaces") }
