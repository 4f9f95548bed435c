package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// An entry that is too large to be read by every process that uses it has a
// seal: what its files looked like from outside when all of them were read and
// found good. As long as they look the same, they are taken to be the same.
//
// What the seal promises: whoever changes a file by the usual means changes its
// ctime, which only the superuser can set back, or its inode; so any process
// that opens the entry afterwards reads all of it again. What it does not
// notice is a disk that forgets bits by itself. For that the whole is read once
// a day, and by [Cache.Verify]. Systems without a ctime have the time of
// modification instead, which its owner may set.

const (
	sealName   = "seal"
	sealFormat = 1

	// sealAge is how long a seal saves reading the entry.
	sealAge = 24 * time.Hour

	// sealDelay is Cache.sealDelay: how old the newest change of a file must be
	// for a seal. Two changes within one tick of the file system's clock have the
	// same time.
	sealDelay = 2 * time.Second

	// maxSeal bounds what is read of a seal, in bytes.
	maxSeal = 1 << 10
)

// sealed is what a seal says.
type sealed struct {
	Format   int       `json:"format"`
	Manifest string    `json:"manifest"` // what the manifest's first line says
	Stamps   string    `json:"stamps"`   // SHA-256 of the stamps of all its files
	Read     time.Time `json:"read"`     // when all of it was read
}

// checkLarge is compare for files under data that are too many to be read each
// time: by the entry's seal if that is good, else by reading all of them, which
// makes a new seal.
func (e *entry) checkLarge(m *manifest, data string) error {
	begun := time.Now()
	before, newest, err := m.stamps(data)
	if err != nil {
		return err
	}
	if s, err := readSeal(e.dir); err == nil {
		age := begun.Sub(s.Read)
		if s.Format == sealFormat && s.Manifest == m.sum && s.Stamps == before && age >= 0 && age < sealAge {
			return nil
		}
	}
	if err := m.compare(data, checksums); err != nil {
		return err
	}
	after, _, err := m.stamps(data)
	if err != nil || after != before || begun.Sub(newest) < e.c.sealDelay {
		return err
	}
	// Where it cannot be written, the next process reads everything, too.
	_ = e.writeSeal(&sealed{sealFormat, m.sum, before, begun.UTC()})
	return nil
}

// stamps looks at the manifest's files from outside. The result changes when
// any of them does. Newest is when that last happened.
func (m *manifest) stamps(data string) (sum string, newest time.Time, err error) {
	h := sha256.New()
	for _, f := range m.Files {
		path := filepath.Join(data, filepath.FromSlash(f.Path))
		s, err := stampOf(path)
		if err == nil {
			err = f.looksRight(path, s.info)
		}
		if err != nil {
			return "", newest, fmt.Errorf("%w: %w", errDamaged, err)
		}
		fmt.Fprintf(h, "%d %d %d %d %d %v\n", s.device, s.inode, s.size, s.modTime.UnixNano(), s.changed.UnixNano(), s.info.Mode())
		if s.changed.After(newest) {
			newest = s.changed
		}
	}
	return hex.EncodeToString(h.Sum(nil)), newest, nil
}

func readSeal(entry string) (*sealed, error) {
	f, err := os.Open(filepath.Join(entry, sealName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSeal))
	if err != nil {
		return nil, err
	}
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	if string(sum) != manifestSum(text) {
		return nil, fmt.Errorf("read %s: %w", f.Name(), errDamaged)
	}
	s := new(sealed)
	return s, json.Unmarshal(text, s)
}

// writeSeal replaces the entry's seal in one step. It needs no sync: one that
// did not reach the disk is not a seal.
func (e *entry) writeSeal(s *sealed) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp, err := e.c.TempDir("seal")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fresh := filepath.Join(tmp, sealName)
	if err := os.WriteFile(fresh, append([]byte(manifestSum(text)+"\n"), text...), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(e.dir, sealName))
}
