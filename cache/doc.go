// Package cache is the one package that keeps files on disk: verified downloads,
// unpacked packages, and files derived from them, in one directory that any number
// of processes share.
//
// Its promise is the go command's: duplicate effort is allowed, corruption is
// not. A process that is killed at any point leaves nothing that a later one
// trusts. The package does not use the network, which internal/fetch does, and
// does not interpret entries.
//
//	<root>/                      0700, CODE_RUNNER_CACHE_DIR
//	├── blobs/<algorithm>/<ab>/<hex>    0444 a download, named by its own digest
//	├── trees/<kind>/<key>/
//	│   ├── manifest             sizes and digests of the files under data, and its own digest
//	│   ├── fingerprint          of a large entry: metadata of its files when they were read
//	│   └── data/                0700 result of Dir, files 0444 or 0555
//	├── files/<kind>/<key>/
//	│   ├── manifest, fingerprint
//	│   └── data                 0444 result of File
//	├── records/<kind>/<key>/    as files: what is in tools' directories, see Cache.Changed
//	├── locks/<name>.lock        empty, never removed, held by flock
//	├── processes/<process>/     unfinished files of that process: see internal/procdir
//	│   └── used                 the entries that it has used
//	├── size                     the sum of all sizes that count, for Cache.Limit
//	└── deno/, …                 caches of tools: see Cache.Path
//
// Everything is written under processes and renamed in one step, so an entry exists as a
// whole or not at all. The manifest is renamed with it: a directory without one was never an
// entry. Rebuilding a damaged entry renames the old one away first. The disk gets an entry
// after that, in the background, until Close: see syncer.
//
// # What is checked, and when
//
// A blob is compared with its digest the first time a process uses it, and
// again whenever its size, times or inode change. So is each file of a tree or
// file entry of 4 MiB or less, by its size and CRC-32C, for which processors have
// an instruction: 40 MB take 20 ms instead of the 100 ms of SHA-256.
//
// A larger entry is hashed again when its fingerprint differs or is a day old; a
// new fingerprint is then written. It covers device, inode, size, mode, mtime and
// ctime of all files. So the next process that uses an entry detects any write,
// replacement, truncation or touch: only the superuser can set a ctime back. A
// process that has used the entry already detects changes of the manifest and of
// files of 1 MiB or more at the next use. Bit rot is detected within a day, or by
// [Cache.Verify], which reads everything and compares it by SHA-256. Files that a
// process has open or mapped are not checked again.
//
// A damaged entry is built or fetched again. Open checks that the directories in
// the root are their owner's alone: the checks are against accidents, not against
// an attacker who can write there and replace manifests and fingerprints as well.
// Files added to a tree are found by Verify alone.
//
// # Locking
//
// One builder at a time for each entry: a semaphore for the goroutines of a
// Cache, then a flock for processes and for other Caches on the same root. The
// kernel releases a dead process's lock. Lock files are never removed, since
// removing one that a process waits for would let two in. On file systems without
// locks (some network ones) work may be done twice; the last rename wins. A
// builder may use the cache for other entries, never for its own.
//
// # Limits
//
// A cache is larger than its limit while more than that is in use. The limit is
// about contents: what a file system adds to small files is not counted, and neither
// are [Sessions].
//
// # Testing
//
// Crashes are real: the tests re-execute themselves, kill the child in the
// middle of its writes, and look at what the next Cache trusts.
package cache
