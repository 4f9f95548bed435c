package procdir

import "io/fs"

const guarded = 0

// owned reports true: a user's temporary directory is that user's alone.
func owned(fs.FileInfo) bool { return true }
