package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// description is an open file description of a zygote: what one or more descriptors lead to, and
// what a fork would share with it. So each fork opens its like.
type description struct {
	Kind        kind
	Flags       int // of open(2)
	Descriptors []descriptor
	inode       uint64

	Pipe    int       // of the pipes, which one
	Count   uint64    // of an event counter
	Peer    bool      // it is the second socket of the pair
	Watched []watched // by an epoll
}

type kind int

const (
	aPipe kind = iota
	aCounter
	aSocket
	anEpoll
)

// descriptor is its number, and whether it is closed by execve.
type descriptor struct{ FD, Cloexec int }

// watched is what an epoll watches.
type watched struct {
	FD     int
	Events uint32
	Data   uint64
}

var errShared = errors.New("a fork would share")

// descriptions returns what a stopped process has open. The pipes are our ends of its pipes.
func descriptions(pid int, pipes []*os.File) ([]*description, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	entries, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, err
	}
	var all []*description
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		d, err := describe(dir, fd)
		if err == nil {
			err = d.match(pipes)
		}
		if err != nil {
			return nil, fmt.Errorf("descriptor %d: %w", fd, err)
		}
		if same := slices.IndexFunc(all, func(have *description) bool { return sameDescription(pid, have.Descriptors[0].FD, fd) }); same >= 0 {
			all[same].Descriptors = append(all[same].Descriptors, d.Descriptors...)
			continue
		}
		all = append(all, d)
	}
	var sockets []*description
	ends := 0
	for _, d := range all {
		switch d.Kind {
		case aSocket:
			sockets = append(sockets, d)
		case aPipe:
			ends++
		}
	}
	if ends != len(pipes) {
		return nil, fmt.Errorf("it has %d ends of %d pipes", ends, len(pipes))
	}
	// Whose ends they are, the kernel tells only over a socket of its own.
	unixSockets, err := os.ReadFile(filepath.Join(dir, "net/unix"))
	if err != nil {
		return nil, err
	}
	for i, s := range sockets {
		if len(sockets) != 2 || !bytes.Contains(unixSockets, fmt.Appendf(nil, " %d\n", s.inode)) {
			return nil, errors.New("it has sockets that are not one pair")
		}
		s.Peer = i == 1
	}
	slices.SortStableFunc(all, func(a, b *description) int { return int(a.Kind) - int(b.Kind) })
	return all, nil
}

// describe reads what the kernel tells of a descriptor.
func describe(dir string, fd int) (*description, error) {
	name := filepath.Join(dir, "fd", strconv.Itoa(fd))
	target, err := os.Readlink(name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return nil, err
	}
	d := &description{inode: st.Ino, Pipe: -1}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFIFO:
		d.Kind = aPipe
	case target == "anon_inode:[eventfd]":
		d.Kind = aCounter
	case target == "anon_inode:[eventpoll]":
		d.Kind = anEpoll
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		d.Kind = aSocket
	default:
		return nil, fmt.Errorf("%w %s", errShared, target)
	}
	info, err := os.ReadFile(filepath.Join(dir, "fdinfo", strconv.Itoa(fd)))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(info)) {
		var w watched
		var flags int
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "flags":
			_, err = fmt.Sscanf(value, "%o", &flags)
			d.Flags = flags &^ unix.O_CLOEXEC
			d.Descriptors = []descriptor{{fd, flags & unix.O_CLOEXEC}}
		case "eventfd-semaphore":
			if value != "0" {
				err = errors.New("a semaphore")
			}
		case "eventfd-count":
			_, err = fmt.Sscanf(value, "%x", &d.Count)
		case "tfd":
			_, err = fmt.Sscanf(value, "%d events: %x data: %x", &w.FD, &w.Events, &w.Data)
			d.Watched = append(d.Watched, w)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if d.Descriptors == nil || d.Kind == aPipe && d.Flags&unix.O_ACCMODE == unix.O_RDWR || d.Count > math.MaxUint32 {
		return nil, fmt.Errorf("%s is open in a way that cannot be repeated", target)
	}
	return d, nil
}

// match finds the end of ours that belongs to a pipe.
func (d *description) match(pipes []*os.File) error {
	if d.Kind != aPipe {
		return nil
	}
	for i, f := range pipes {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino == d.inode {
			d.Pipe = i
			return nil
		}
	}
	return fmt.Errorf("%w a pipe", errShared)
}

// sameDescription reports whether two descriptors of a process lead to the same description.
func sameDescription(pid, a, b int) bool {
	const kcmpFile = 0
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(pid), kcmpFile, uintptr(a), uintptr(b), 0)
	return errno == 0 && order == 0
}

// reopen adds the calls by which a fork opens what is like its descriptions, in the place of
// them. It returns our ends of the pipes, and all descriptors that are to be closed then. Those
// that the kernel gives are known: each is the lowest that is free.
func reopen(b *batch, all []*description, pipes int) (ours, spare []int) {
	taken := map[int]bool{}
	for _, d := range all {
		for _, n := range d.Descriptors {
			taken[n.FD] = true
		}
	}
	next := func() int {
		n := 0
		for taken[n] {
			n++
		}
		taken[n] = true
		spare = append(spare, n)
		return n
	}
	ours = make([]int, pipes)
	var ends [2]int // of the pair of sockets
	for _, d := range all {
		like, nonblock := 0, uintptr(d.Flags&unix.O_NONBLOCK)
		switch d.Kind {
		case aPipe:
			ends := [2]int{next(), next()}
			b.call(unix.SYS_PIPE2, b.room(make([]byte, 8)), nonblock)
			writes := d.Flags & unix.O_ACCMODE // O_RDONLY is 0, O_WRONLY 1
			like, ours[d.Pipe] = ends[writes], ends[1-writes]
		case aCounter:
			like = next()
			b.call(unix.SYS_EVENTFD2, uintptr(d.Count), nonblock)
		case aSocket:
			if !d.Peer {
				ends = [2]int{next(), next()}
				b.call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|nonblock, 0, b.room(make([]byte, 8)))
				like = ends[0]
			} else {
				like = ends[1]
			}
		case anEpoll:
			like = next()
			b.call(unix.SYS_EPOLL_CREATE1, 0)
		}
		for _, n := range d.Descriptors {
			b.call(unix.SYS_DUP3, uintptr(like), uintptr(n.FD), uintptr(n.Cloexec))
		}
		for _, w := range d.Watched {
			b.call(unix.SYS_EPOLL_CTL, uintptr(d.Descriptors[0].FD), unix.EPOLL_CTL_ADD, uintptr(w.FD), b.room(packed(w.Events, w.Data)))
		}
	}
	return ours, spare
}
