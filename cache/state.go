package cache

import "time"

// state is the metadata of a file.
type state struct {
	device, inode     uint64
	size              int64
	mode              uint32
	modified, changed time.Time
	regular           bool
}
