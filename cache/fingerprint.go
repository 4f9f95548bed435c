package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// One rule verifies blobs, entries and tool directories: an unchanged fingerprint
// less than a day old is trusted; otherwise files are hashed.
//
// A fingerprint covers the files' metadata. A change of a file changes its ctime,
// which only the superuser can set back, or its inode. Bit rot changes neither:
// against it everything is read once a day, and by [Cache.Verify]. Systems
// without a ctime use the mtime, which the owner of a file may set.

// readAge is how long a fingerprint is trusted.
const readAge = 24 * time.Hour

// fingerprint returns a digest of the states of the files at paths, and their
// newest ctime.
func fingerprint(paths []string) (sum string, newest time.Time, err error) {
	h := sha256.New()
	for _, path := range paths {
		s, err := look(path)
		if err != nil {
			return "", newest, err
		}
		fmt.Fprintln(h, s.device, s.inode, s.size, s.mode, s.modified.UnixNano(), s.changed.UnixNano())
		if s.changed.After(newest) {
			newest = s.changed
		}
	}
	return hex.EncodeToString(h.Sum(nil)), newest, nil
}
