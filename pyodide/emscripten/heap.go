package emscripten

const (
	pageSize = 64 << 10
	maxPages = 1<<16 - 1 // one less than there can be: a size fits 32 bits
)

// growAhead is how much more memory than was asked for is taken at most.
const growAhead = 16 << 20

// doResizeHeap is emscripten_resize_heap(size): whether the memory is now that
// large. As upstream, it grows by a fifth more than asked, if it can, so that
// not every malloc comes here.
func doResizeHeap(c call) uint64 {
	want, have := uint64(c.u32(0)), uint64(c.mem.Size())
	most := uint64(c.p.maxHeap)
	if want > most {
		return 0
	}
	if want <= have {
		return 1
	}
	ahead := min(max(want, have+min(have/5, growAhead)), most)
	for _, size := range [...]uint64{ahead, want} {
		if c.mem.Grow(uint32((size - have + pageSize - 1) / pageSize)) {
			return 1
		}
	}
	return 0
}

func doGetHeapMax(c call) uint64 { return uint64(c.p.maxHeap) }
