package memfs

import "coderunner/internal/machine/abi"

// size is the length of a regular file.
func (f *File) size() int64 {
	if f.out != nil {
		st, _ := f.out.Stat()
		return st.Size
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	f.node.learn()
	if f.node.data() != nil {
		return f.node.data().size
	}
	return f.node.src().size
}

// Truncate is ftruncate(2): EINVAL unless a regular file open for writing.
func (f *File) Truncate(size int64) abi.Errno {
	switch {
	case size < 0:
		return abi.EINVAL
	case f.flags.Load()&abi.O_PATH != 0:
		return abi.EBADF
	case f.out != nil && f.writable() == abi.OK:
		return f.out.Truncate(size)
	case f.node == nil, f.node.data() == nil, f.writable() != abi.OK:
		return abi.EINVAL
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	return f.fsys.setSizeLocked(f.node, size)
}

// Allocate is posix_fallocate(3): it makes the file at least off+n long, or is
// ENOSPC when that many more bytes are not left. Room is not reserved.
func (f *File) Allocate(off, n int64) abi.Errno {
	switch {
	case f.writable() != abi.OK:
		return abi.EBADF
	case f.stream != nil:
		return abi.ESPIPE
	case off < 0 || n <= 0:
		return abi.EINVAL
	case f.node.data() == nil && f.out == nil:
		return abi.ENODEV
	case n > maxFileSize || off > maxFileSize-n:
		return abi.EFBIG
	case f.out != nil && off+n <= f.size():
		return abi.OK
	case f.out != nil:
		return f.out.Truncate(off + n)
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	f.node.learn()
	grow := off + n - f.node.data().size
	switch {
	case grow <= 0:
		return abi.OK
	case grow > f.fsys.bytes.left():
		return abi.ENOSPC
	}
	return f.fsys.setSizeLocked(f.node, off+n)
}
