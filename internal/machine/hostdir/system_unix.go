//go:build unix

package hostdir

import (
	"os"
	"syscall"

	"coderunner/internal/machine/abi"
)

// noWait keeps an open from waiting for the other end of a pipe, and a terminal
// from becoming ours.
const noWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// setOwner sets whose a file is.
func setOwner(st *abi.Stat, uid uint32) {
	if me := os.Geteuid(); me != 0 && uint32(me) != uid {
		st.UID, st.GID = nobody, nobody
	}
}

// withFD calls f with a descriptor of the directory.
func withFD(dir *os.Root, f func(fd int) error) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	c, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
