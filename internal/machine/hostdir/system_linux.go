package hostdir

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"coderunner/internal/machine/abi"
)

// system adds what only the system knows of a file.
func system(st *abi.Stat, info fs.FileInfo) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	st.Dev, st.Ino, st.Nlink = uint32(s.Dev), s.Ino, uint32(min(uint64(s.Nlink), 1<<31))
	st.Blocks, st.Blksize = s.Blocks, int32(min(int64(s.Blksize), 1<<20))
	st.Atime = abi.Timespec{Sec: int64(s.Atim.Sec), Nsec: int32(s.Atim.Nsec)}
	st.Ctime = abi.Timespec{Sec: int64(s.Ctim.Sec), Nsec: int32(s.Ctim.Nsec)}
	setOwner(st, s.Uid)
}

// kernelViews are file systems whose files are not files.
var kernelViews = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.DEBUGFS_MAGIC: true,
	unix.TRACEFS_MAGIC: true, unix.SECURITYFS_MAGIC: true, unix.SELINUX_MAGIC: true,
	unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true, unix.BPF_FS_MAGIC: true,
	unix.PSTOREFS_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.BINDERFS_SUPER_MAGIC: true,
	unix.DEVPTS_SUPER_MAGIC: true, unix.NSFS_MAGIC: true,
}

// kernelView reports whether an open directory is one of the kernel's. Such a file
// system has no device of its own, so that most directories need not be asked.
func kernelView(info fs.FileInfo, dir *os.Root) bool {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && unix.Major(uint64(s.Dev)) != 0 {
		return false
	}
	var view bool
	err := withFD(dir, func(fd int) error {
		var st unix.Statfs_t
		err := unix.Fstatfs(fd, &st)
		view = kernelViews[int64(st.Type)]
		return err
	})
	return err != nil || view
}
