package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// countDisk counts the files in a directory, at any depth and of any mode, and the
// unnamed files that the process has open. An error means that the limit is
// exceeded or that something cannot be counted.
func countDisk(p *Process, dir string) (diskUse, error) {
	u := diskUse{seen: map[[2]uint64]bool{}}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return u, err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err == nil {
		u.full = st.Bavail*uint64(st.Bsize) < min(keepFree, st.Blocks*uint64(st.Bsize)/20)
	}
	if err := u.tree(fd, 0); err != nil {
		return u, err
	}
	return u, u.nameless(p)
}

// tree counts the files in a directory and closes it. Files that are removed
// meanwhile are skipped.
func (u *diskUse) tree(fd, depth int) error {
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1 << 10)
		for _, name := range names {
			if err := u.entry(fd, name, depth); err != nil && !gone(err) {
				return err
			}
		}
		if err != nil { // io.EOF, or it was removed
			return nil
		}
	}
}

func (u *diskUse) entry(dir int, name string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	links := st.Nlink
	if isDir {
		links = 1
	}
	if err := u.add(uint64(st.Dev), st.Ino, uint64(links), st.Blocks*512); err != nil || !isDir {
		return err
	}
	if depth > maxDiskDepth { // the working directory is one of dir
		return errDisk
	}
	sub, restore, err := openAnyway(dir, name)
	if err != nil {
		return err
	}
	defer restore()
	return u.tree(sub, depth+1)
}

// openAnyway opens dir, adding u+rx for the moment; restore resets the mode.
func openAnyway(dir int, name string) (fd int, restore func(), err error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	restore = func() {}
	held, err := unix.Openat(dir, name, unix.O_PATH|flags, 0)
	if err != nil {
		return 0, restore, err
	}
	self := "/proc/self/fd/" + strconv.Itoa(held)
	var st unix.Stat_t
	if err = unix.Fstat(held, &st); err == nil && st.Mode&0o500 != 0o500 && unix.Geteuid() != 0 {
		err = unix.Chmod(self, st.Mode&0o7777|0o500)
		restore = func() {
			_ = unix.Chmod(self, st.Mode&0o7777)
			unix.Close(held)
		}
	} else {
		restore = func() { unix.Close(held) }
	}
	if err == nil {
		fd, err = unix.Openat(held, ".", unix.O_RDONLY|flags, 0)
	}
	if err != nil {
		restore()
		return 0, func() {}, err
	}
	return fd, restore, nil
}

// gone reports whether the file was removed or replaced.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// exiting reports whether a process has begun to end, which may take a while on a
// busy machine. A process without memory of its own any more is root's alone.
func exiting(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// "PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS …", where NAME may be anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 7 {
		return false
	}
	const flagExiting = 0x4 // PF_EXITING in linux/sched.h
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&flagExiting != 0
}

// nameless counts the unnamed files that the process has open, in memory or on a
// disk.
func (u *diskUse) nameless(p *Process) error {
	name := fmt.Sprintf("/proc/%d/fd", p.Pid())
	dir, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		if p.visible && errors.Is(err, unix.EACCES) && !exiting(p.Pid()) {
			return err
		}
		return nil // it has ended
	}
	f := os.NewFile(uintptr(dir), name)
	defer f.Close()
	fds, _ := f.Readdirnames(2 * maxOpenFiles)
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, fd, &st, 0); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 0 {
			continue
		}
		if err := u.add(uint64(st.Dev), st.Ino, 0, st.Blocks*512); err != nil {
			return err
		}
	}
	return nil
}
