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
	kind        kind
	flags       int // of open(2)
	descriptors []descriptor
	inode       uint64

	pipe    int       // of the pipes, which one
	count   uint64    // of an event counter
	peer    bool      // it is the second socket of the pair
	watched []watched // by an epoll
}

type kind int

const (
	aPipe kind = iota
	aCounter
	aSocket
	anEpoll
)

// descriptor is its number, and whether it is closed by execve.
type descriptor struct{ fd, cloexec int }

// watched is what an epoll watches.
type watched struct {
	fd     int
	events uint32
	data   uint64
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
		if same := slices.IndexFunc(all, func(have *description) bool { return sameDescription(pid, have.descriptors[0].fd, fd) }); same >= 0 {
			all[same].descriptors = append(all[same].descriptors, d.descriptors...)
			continue
		}
		all = append(all, d)
	}
	var sockets []*description
	ends := 0
	for _, d := range all {
		switch d.kind {
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
		s.peer = i == 1
	}
	slices.SortStableFunc(all, func(a, b *description) int { return int(a.kind) - int(b.kind) })
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
	d := &description{inode: st.Ino, pipe: -1}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFIFO:
		d.kind = aPipe
	case target == "anon_inode:[eventfd]":
		d.kind = aCounter
	case target == "anon_inode:[eventpoll]":
		d.kind = anEpoll
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		d.kind = aSocket
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
			d.flags = flags &^ unix.O_CLOEXEC
			d.descriptors = []descriptor{{fd, flags & unix.O_CLOEXEC}}
		case "eventfd-semaphore":
			if value != "0" {
				err = errors.New("a semaphore")
			}
		case "eventfd-count":
			_, err = fmt.Sscanf(value, "%x", &d.count)
		case "tfd":
			_, err = fmt.Sscanf(value, "%d events: %x data: %x", &w.fd, &w.events, &w.data)
			d.watched = append(d.watched, w)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	if d.descriptors == nil || d.kind == aPipe && d.flags&unix.O_ACCMODE == unix.O_RDWR || d.count > math.MaxUint32 {
		return nil, fmt.Errorf("%s is open in a way that cannot be repeated", target)
	}
	return d, nil
}

// match finds the end of ours that belongs to a pipe.
func (d *description) match(pipes []*os.File) error {
	if d.kind != aPipe {
		return nil
	}
	for i, f := range pipes {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino == d.inode {
			d.pipe = i
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
		for _, n := range d.descriptors {
			taken[n.fd] = true
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
		like, nonblock := 0, uintptr(d.flags&unix.O_NONBLOCK)
		switch d.kind {
		case aPipe:
			ends := [2]int{next(), next()}
			b.call(unix.SYS_PIPE2, b.room(make([]byte, 8)), nonblock)
			writes := d.flags & unix.O_ACCMODE // O_RDONLY is 0, O_WRONLY 1
			like, ours[d.pipe] = ends[writes], ends[1-writes]
		case aCounter:
			like = next()
			b.call(unix.SYS_EVENTFD2, uintptr(d.count), nonblock)
		case aSocket:
			if !d.peer {
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
		for _, n := range d.descriptors {
			b.call(unix.SYS_DUP3, uintptr(like), uintptr(n.fd), uintptr(n.cloexec))
		}
		for _, w := range d.watched {
			b.call(unix.SYS_EPOLL_CTL, uintptr(d.descriptors[0].fd), unix.EPOLL_CTL_ADD, uintptr(w.fd), b.room(packed(w.events, w.data)))
		}
	}
	return ours, spare
}
