package memfs

import (
	"cmp"
	"sync/atomic"

	"coderunner/internal/machine/abi"
)

const (
	defaultMaxBytes   = 512 << 20
	defaultMaxNodes   = 1 << 16
	defaultMaxMounted = 1 << 18

	// nameCost is what a name takes at most, with its node, in bytes.
	nameCost = 768

	// maxHandles bounds the files of the host that are open at once: the host
	// has few, for all programs that it runs.
	maxHandles = 256
)

// budgets bound what an FS holds, see the package comment.
type budgets struct {
	bytes   budget // file data, symlink targets, pipe buffers
	names   budget // directory entries in memory
	mounted budget // directory entries of mounts
	handles budget // open files of mounts and HostDirs
}

func (b *budgets) bound(o Options) {
	b.bytes.max = cmp.Or(o.MaxBytes, defaultMaxBytes)
	b.names.max = int64(cmp.Or(o.MaxNodes, defaultMaxNodes))
	b.mounted.max = int64(cmp.Or(o.MaxMounted, defaultMaxMounted))
	b.handles.max = maxHandles
	if o.NamesCount {
		b.countNames()
	}
}

func (b *budgets) countNames() {
	b.bytes.beside = func() int64 { return nameCost * b.names.used.Load() }
}

// Statfs describes the file system: its budgets and what is left of them.
func (b *budgets) Statfs() abi.Statfs {
	const block = 4096
	const tmpfsMagic = 0x01021994
	blocks, free := uint64(b.bytes.max)/block, uint64(b.bytes.left())/block
	if free == blocks && free > 0 {
		free-- // the root's: programs take a file system of which nothing is used for an odd one
	}
	return abi.Statfs{
		Type: tmpfsMagic, Bsize: block, Frsize: block,
		Blocks: blocks, Bfree: free, Bavail: free,
		Files: uint64(b.names.max), Ffree: uint64(b.names.left()),
		Namelen: abi.NAME_MAX,
	}
}

// Usage returns what the budgets are charged with.
func (b *budgets) Usage() (bytes int64, nodes int) {
	return b.bytes.used.Load(), int(b.names.used.Load())
}

// Room returns how many bytes more may be charged now.
func (b *budgets) Room() int64 { return b.bytes.left() }

// Peak returns the most bytes that were charged at once.
func (b *budgets) Peak() int64 { return b.bytes.peak.Load() }

// Reserve charges n bytes that someone else holds for the guest to MaxBytes,
// if they are within. Unreserve gives them back.
func (b *budgets) Reserve(n int64) bool { return b.bytes.take(n) }

// Unreserve gives n bytes back that Reserve has charged.
func (b *budgets) Unreserve(n int64) { b.bytes.give(n) }

// budget is a number of things that may exist at once.
type budget struct {
	used   atomic.Int64
	peak   atomic.Int64 // the most that was used
	max    int64
	beside func() int64 // what others use of it; nil: nothing
}

// take charges n and reports whether it was within the budget; if not, it charges
// nothing.
func (b *budget) take(n int64) bool {
	for {
		used := b.used.Load()
		if n > b.max-used-b.others() {
			return false
		}
		if !b.used.CompareAndSwap(used, used+n) {
			continue
		}
		for used += n; ; {
			peak := b.peak.Load()
			if used <= peak || b.peak.CompareAndSwap(peak, used) {
				return true
			}
		}
	}
}

func (b *budget) give(n int64) { b.used.Add(-n) }

func (b *budget) left() int64 { return max(0, b.max-b.used.Load()-b.others()) }

func (b *budget) others() int64 {
	if b.beside == nil {
		return 0
	}
	return b.beside()
}
