package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"
	"github.com/rogpeppe/go-internal/diff"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 64 << 20

// Change is an edit of a configuration file that is not written yet.
type Change struct {
	Path string // of the file itself, if a link led to it

	old, edited []byte
	mode        fs.FileMode
	exists      bool
}

// Change reads the configuration file at path and edits it. Nothing is written.
func (c *Client) Change(path string, to Server) (*Change, error) {
	change := &Change{Path: path, mode: 0o600}
	if _, err := os.Lstat(path); err == nil {
		if change.Path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("follow %s: %w", path, err)
		}
	}
	var err error
	if change.old, err = change.read(); err != nil {
		return nil, err
	}
	if change.edited, err = c.Edit(change.old, to); err != nil {
		return nil, fmt.Errorf("%s: %w", change.Path, err)
	}
	return change, nil
}

// read returns the file's text, and notes its mode.
func (c *Change) read() ([]byte, error) {
	info, err := os.Stat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", c.Path)
	}
	c.exists, c.mode = true, info.Mode().Perm()
	f, err := os.Open(c.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", c.Path, maxFile)
	}
	return text, err
}

// Diff returns the change as a unified diff, nil if there is none.
func (c *Change) Diff() []byte {
	from := c.Path
	if !c.exists {
		from = os.DevNull
	}
	return diff.Diff(from, c.old, c.Path, c.edited)
}

// Write replaces the file in one step, unless another program has changed it.
func (c *Change) Write() error {
	now, err := c.read()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.old) {
		return fmt.Errorf("%s was changed by another program; try again", c.Path)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	if err := maybe.WriteFile(c.Path, c.edited, c.mode); err != nil {
		return fmt.Errorf("write %s: %w", c.Path, err)
	}
	return nil
}
