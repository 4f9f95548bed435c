package cache

import "io/fs"

// userID has no meaning here: the user's folders are guarded by lists of
// access rights, which new files inherit.
func userID(fs.FileInfo) uint32 { return 0 }
