package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// The sections of a cache, as [Entry] names them.
const (
	Blobs   = "blobs"
	Trees   = "trees"
	Files   = "files"
	Records = "records" // what is in tools' directories: see Cache.Changed
	Tools   = "tools"   // directories from Cache.Path, whose contents only their tools know
)

// Sessions is a directory of [Tools] that has a limit of its own, and whose contents
// nobody can make again: its size does not count against that of [Cache.Limit].
const Sessions = "sessions"

// sections are the directories in the root that are not tools'.
var sections = []string{Blobs, Trees, Files, Records, lockDir, processes}

// lockDir and processes are the directories of the lock files, and of the
// processes' temporary files.
const (
	lockDir   = "locks"
	processes = "processes"
)

const (
	manifestName = "manifest"
	dataName     = "data"
)

// entry is a tree or a file, which need not exist.
type entry struct {
	section   string // Trees, Files or Records
	kind, key string
	dir       string // <root>/<section>/<kind>/<name>
	lock      string
}

func newEntry(root, section, kind, key string) (*entry, error) {
	if !validKind(kind) {
		return nil, fmt.Errorf("cache %s: kind %q: want lower-case letters, digits and hyphens", section, kind)
	}
	if key == "" {
		return nil, fmt.Errorf("cache %s %s: the key is empty", section, kind)
	}
	name := fileName(key)
	return &entry{section, kind, key, filepath.Join(root, section, kind, name), entryLock(section, kind, name)}, nil
}

func entryLock(section, kind, name string) string { return section + "-" + kind + "-" + name }

func validKind(kind string) bool {
	if kind == "" || len(kind) > 40 || kind[0] == '-' {
		return false
	}
	return strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// maxName keeps lock names under the 255 bytes that file systems allow.
const maxName = 100

// fileName returns a path element for key that is unique on case-insensitive file
// systems, too. It is key itself if that needs no change.
func fileName(key string) string {
	plain := true
	slug := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._+=@", r) {
			return r
		}
		plain = false
		return '-'
	}, key)
	if plain && len(key) <= maxName && key[0] != '.' && !strings.HasSuffix(key, ".") {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	if len(slug) > 40 {
		slug = slug[:40]
	}
	return strings.Trim(slug, "-.") + "~" + hex.EncodeToString(sum[:16])
}

// data returns the path that Dir and File return.
func (e *entry) data() string { return filepath.Join(e.dir, dataName) }

func blobLock(d Digest) string { return "blob-" + d.Algorithm + "-" + d.Hex }
