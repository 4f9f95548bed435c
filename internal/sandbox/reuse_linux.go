//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A namespace is a network of its own that a process had who has ended, for another one. The
// kernel takes 0.7 ms of processor time to make one, and as much to take it down.
type namespace struct {
	files  []*os.File // of the user and the network namespace, and of what has passed through its interfaces
	before string     // what had passed when it was made
}

// maxSpare bounds the namespaces that wait for a process.
const maxSpare = 16

var spare = make(chan *namespace, maxSpare)

// takeNamespace returns a namespace that no process is in, or nil.
func takeNamespace() *namespace {
	select {
	case n := <-spare:
		return n
	default:
		return nil
	}
}

// openNamespace returns the one that a stopped process has made, or nil.
func openNamespace(pid int) *namespace {
	n := &namespace{}
	for _, name := range []string{"ns/user", "ns/net", "net/dev"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			n.close()
			return nil
		}
		n.files = append(n.files, f)
	}
	n.before = n.passed()
	return n
}

// passed returns what has passed through the interfaces so far.
func (n *namespace) passed() string {
	text := make([]byte, 4<<10) // two lines of names and one for lo
	k, _ := n.files[2].ReadAt(text, 0)
	return string(text[:k])
}

// giveBack keeps the namespace for another process if those that were in it, which have ended,
// have sent nothing: then there is nothing of their sockets, which end with them.
func (n *namespace) giveBack() {
	if n == nil {
		return
	}
	if n.before != "" && n.passed() == n.before {
		select {
		case spare <- n:
			return
		default:
		}
	}
	n.close()
}

func (n *namespace) close() {
	for _, f := range n.files {
		f.Close()
	}
}

// enter has a process that inherited the files of a namespace, as its first, enter it.
func (s *stopped) enter() error {
	for i, kind := range []uintptr{unix.CLONE_NEWUSER, unix.CLONE_NEWNET} {
		if _, err := s.call(unix.SYS_SETNS, uintptr(3+i), kind, 0); err != nil {
			return fmt.Errorf("enter a network namespace: %w", err)
		}
	}
	_, err := s.call(unix.SYS_CLOSE_RANGE, 3, 4, 0)
	return err
}
