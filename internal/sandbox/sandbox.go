// Package sandbox confines a process that is about to be started, by what the
// kernel offers to an unprivileged one: no new privileges, no capabilities,
// Landlock on files, TCP, signals and abstract sockets, and a filter of system
// calls. What it confines can make no other process and start no program.
//
// It is the second wall around Deno. The first are Deno's own permissions; this
// one is for the day on which a program gets past them. It confines an OS
// thread, and everything that is started from it, and puts the process under a
// filter before its first instruction: see RATIONALE.md. filter_linux.go has the system calls
// that are refused, syscalls_linux.go the only ones that a process of ours keeps.
//
// # Sources
//
// Linux, Documentation/userspace-api/landlock.rst (ABI 1 to 9), seccomp(2),
// ptrace(2), prctl(2), capabilities(7), Documentation/admin-guide/cgroup-v2.rst,
// systemd's CGROUP_DELEGATION.md.
//
// # Limits
//
// Linux only; elsewhere [Probe] returns [None]. Memory, threads and the size of
// files are not limited here but on the started process, unless there is a
// [Group] for it, which must have been delegated to us. Where tracing is
// forbidden a confined process may fork: the children are confined in the same
// way.
//
// # Testing
//
// The tests re-execute themselves from a confined thread and try what is
// forbidden, with plain system calls. Control groups are tested where they are
// delegated.
package sandbox

import (
	"errors"
	"strings"
)

// Spec lists what a confined process may touch besides the libraries, time
// zones and random devices that every program needs. Paths that do not exist
// are left out. A directory includes everything below it.
type Spec struct {
	Execute []string // files: may be read and started
	Read    []string
	Write   []string // may be read, too
	// Files has directories whose files may be read and whose directories may not be listed: who
	// does not know a name does not find it.
	Files   []string
	Network bool // sockets of every kind
	// SharedMemory allows memory that RLIMIT_DATA does not count (memfd_create): for a process
	// whose memory is watched.
	SharedMemory bool
	// Attributes allows the system calls that change the modes, owners and times of files, and
	// watch directories. Landlock does not keep them to Write and Read, only
	// the rights of the user do.
	Attributes bool
	// OnlyGo allows no system calls but those that a Go program without cgo needs, none of which
	// makes a socket, and has the kernel's audit log the others. Where tracing is forbidden, it
	// has no effect.
	OnlyGo bool
	// Loopback gives a process sockets of TCP and UDP in a network of its own, where there
	// is nothing but itself. With Network only the supervisor's sockets lead out of it
	// (Call.Replace), and without one it has no effect. The kernel may refuse: see
	// [OwnNetwork].
	Loopback bool
	// Large are ranges of a process's memory, addresses and sizes in bytes, of which the kernel
	// reads in 2 MiB at a time what it has not got of the file, as far as it can.
	Large [][2]uintptr
	// Supervise takes the system calls that reach the network, before the process
	// begins, and must not wait. It is not called where the kernel cannot.
	Supervise func(*Calls)
}

// ErrTaken is why a process could not be restored if the kernel has put something of another one
// where a part of it was, which it does at random.
var ErrTaken = errors.New("the memory of a snapshot is taken")

// Level is how much of the confinement the kernel can do.
type Level struct {
	// Name is "full", "partial" or "none".
	Name string `json:"level"`
	// Missing lists what is not done, a short sentence each. It is empty if
	// Name is "full".
	Missing []string `json:"missing,omitempty"`
	// InForce lists what is done, a short sentence each.
	InForce []string `json:"in_force,omitempty"`
	// ABI is the version of Landlock, 0 if there is none.
	ABI int `json:"landlock_abi"`
}

// The names of levels.
const (
	Full    = "full"
	Partial = "partial"
	None    = "none"
)

func (l Level) String() string {
	if len(l.Missing) == 0 {
		return l.Name
	}
	return l.Name + ": " + strings.Join(l.Missing, "; ")
}

// Without lowers a level by something that is missing.
func (l Level) Without(what string) Level {
	if l.Name == Full {
		l.Name = Partial
	}
	l.Missing = append(l.Missing[:len(l.Missing):len(l.Missing)], what)
	return l
}
