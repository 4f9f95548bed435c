package cache

import "time"

// fileID tells the files of a machine apart.
type fileID struct{ device, inode uint64 }

// state is the metadata of a file.
type state struct {
	device, inode     uint64
	size              int64
	mode              uint32
	modified, changed time.Time
	regular           bool
}
