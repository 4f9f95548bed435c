// Package cache is the one package that keeps things on disk: downloads that
// were verified, packages that were unpacked, and files derived from them, in
// one folder that any number of processes share.
//
// Its promise is the go command's: duplicate effort is allowed, corruption is
// not. A process that is killed at any point leaves nothing that a later one
// trusts. It knows neither the network, which is internal/fetch's, nor what the
// entries mean.
//
//	<root>/                      0700, CODE_RUNNER_CACHE_DIR
//	├── blobs/<algorithm>/<ab>/<hex>    0444 a download, named by its own digest
//	├── trees/<kind>/<key>/
//	│   ├── manifest             sizes and digests of what is under data, and its own
//	│   ├── seal                 of a large entry: how data looked when it was read
//	│   └── data/                0700 what Dir built, files 0444 or 0555
//	├── files/<kind>/<key>/
//	│   ├── manifest, seal
//	│   └── data                 0444 what File built
//	├── locks/<name>.lock        empty, never removed, held by flock
//	├── tmp/<process>/           what that process has not finished: see internal/procdir
//	└── deno/, …                 tools with a cache of their own, see Cache.Path
//
// Everything is written under tmp, synced, and renamed to its place in one
// step, so an entry is there as a whole or not at all. The manifest is inside
// what is renamed: a folder without one was never an entry. Rebuilding a
// damaged entry moves the old one away first.
//
// # What is checked, and when
//
// A blob is compared with its digest the first time a process uses it, and
// again whenever its size, times or inode change. So is each file of a tree or
// file entry of 4 MiB or less, by its size and CRC-32C, for which there is an
// instruction: 40 MB take 20 ms instead of the 100 ms of SHA-256.
//
// A larger entry is read as a whole when its seal does not fit, which makes a
// new one: device, inode, size, mode, mtime and ctime of all its files, and the
// time. A seal fits for a day. So whatever writes, replaces, cuts or touches a
// file of an entry is noticed by the next process that uses it: only the
// superuser can set a ctime back. In the process that has used it already,
// changes of the manifest and of files of 1 MiB or more are noticed at the next
// use. Bits that the disk forgets by itself are noticed within a day, or by
// [Cache.Verify], which reads everything and compares it by SHA-256. What a
// process has open or mapped is not looked at again.
//
// What fails its check is built or fetched again. The folders in the root are
// their owner's alone, which Open makes sure of: the checks are against
// accidents, not against someone who may write there and could replace the
// manifests and seals as well. Files that somebody has put beside those of a
// tree are found by Verify alone.
//
// # Locking
//
// One builder at a time for each entry: a semaphore for the goroutines of a
// Cache, then a flock for processes and for other Caches on the same root. The
// kernel releases a dead process's lock. Lock files are never removed, since
// removing one that somebody waits for would let two in. Where the file system
// has no locks (some network ones) work may be done twice; the rename still
// decides whose is kept. A builder may use the cache for other entries, never
// for its own.
//
// # Limits
//
// Eviction happens only by [Cache.Prune] and [Cache.Clear].
//
// # Testing
//
// Crashes are real: the tests re-execute themselves, kill the child in the
// middle of its writes, and look at what the next Cache trusts.
package cache
