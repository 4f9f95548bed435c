package memfs

import (
	"coderunner/internal/machine/abi"
)

// Shared is memory that processes can map. Package linmem has it.
type Shared interface {
	Bytes() []byte // valid until Grow and Close
	Grow(size int64) error
	Close()
}

// ShareFiles marks a directory: what is written to the files that are created in
// it is there for everyone who has mapped them, see [File.Share].
func (fsys *FS) ShareFiles(path string) error {
	return fsys.change("mark", path, func(n *Node) { n.dir().shares = true })
}

// Share returns the memory that holds a file of a directory of ShareFiles, at least
// n bytes of it; open makes it. EOPNOTSUPP for other files. The memory is the
// file's.
func (f *File) Share(n int64, open func() (Shared, error)) (Shared, abi.Errno) {
	if f.node == nil || f.node.data() == nil {
		return nil, abi.EOPNOTSUPP
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	c := f.node.data()
	if !c.shares || f.node.dead() {
		return nil, abi.EOPNOTSUPP
	}
	if n < 0 || n > maxFileSize {
		return nil, abi.EINVAL
	}
	if e := f.fsys.copyUpLocked(f.node, maxFileSize, f.reader); e != abi.OK {
		return nil, e
	}
	if c.shared == nil {
		if !f.fsys.handles.take(1) {
			return nil, abi.EMFILE
		}
		s, err := open()
		if err != nil {
			f.fsys.handles.give(1)
			return nil, abi.EOPNOTSUPP
		}
		c.shared = s
	}
	return c.shared, c.growShared(&f.fsys.bytes, max(n, c.size))
}

// growShared makes the first size bytes of the file chunks of shared memory.
func (c *contents) growShared(b *budget, size int64) abi.Errno {
	have := int64(len(c.shared.Bytes()))
	size = (size + chunkSize - 1) / chunkSize * chunkSize
	if size <= have {
		return abi.OK
	}
	if !b.take(size - have) {
		return abi.ENOMEM
	}
	if err := c.shared.Grow(size); err != nil {
		b.give(size - have)
		return abi.ENOMEM
	}
	c.held += size - have
	memory := c.shared.Bytes()
	for i := range size / chunkSize {
		part := memory[i*chunkSize : (i+1)*chunkSize : (i+1)*chunkSize]
		if old := c.chunk(i); i*chunkSize >= have && old != nil {
			copy(part, old)
			c.held -= int64(len(old))
			b.give(int64(len(old)))
		}
		c.setChunk(i, part)
	}
	return abi.OK
}

// unshare lets go of the shared memory, which held all of the file.
func (c *contents) unshare(b *budgets) {
	if c.shared == nil {
		return
	}
	n := int64(len(c.shared.Bytes()))
	for i := range n / chunkSize {
		c.setChunk(i, nil)
	}
	c.held -= n
	b.bytes.give(n)
	b.handles.give(1)
	c.shared.Close()
	c.shared = nil
}

// sharedChunk reports whether a chunk is shared memory.
func (c *contents) sharedChunk(i int64) bool {
	return c.shared != nil && i*chunkSize < int64(len(c.shared.Bytes()))
}
