package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// runtimeParts are the parts of a cache that no package has a share in.
// Snapshots are not among them: some are of interpreters with packages.
var runtimeParts = []string{"trees/npm", "files/module", "files/machine-code", "files/stdlib"}

// entryParts are the parts of a cache that are never written to. Deno's, for
// one, has databases.
var entryParts = []string{"blobs", "trees", "files"}

// nameInstalling is ours with a cache that has no packages.
const nameInstalling = "coderunner run, no packages in its cache"

// installing measures a run that has the package to get first. Every run has
// a cache of its own.
func (w *wheelHost) installing() contender {
	return contender{name: nameInstalling, role: ours, open: func(ctx context.Context) (*opened, error) {
		bare, err := w.bareCache(ctx)
		if err != nil {
			return nil, err
		}
		return &opened{sample: func(ctx context.Context) (s sample, err error) {
			dir, err := os.MkdirTemp(w.dir, "cold-*")
			if err != nil {
				return s, err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
			if err := linkParts(dir, bare, entryParts); err != nil {
				return s, err
			}
			c := w.coderunner
			c.env = ourEnv(c.env, dir)
			stdout, s, err := c.with("run", "--json", "--timeout", "10m", w.file(w.imports)).run(ctx)
			if err != nil {
				return s, err
			}
			o, err := readOutcome(stdout)
			if err == nil {
				err = o.allNew()
			}
			s.Own = time.Duration(o.Usage.PrepareMS * float64(time.Millisecond))
			return s, err
		}}, nil
	}}
}

// bareCache gives a cache that has all that `warm` gets, and nothing else. It
// is made once.
func (h *hosts) bareCache(ctx context.Context) (string, error) {
	dir := filepath.Join(h.dir, "bare")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	making := dir + "-unfinished"
	if err := os.RemoveAll(making); err != nil {
		return "", err
	}
	if err := linkParts(making, h.cache.Root(), runtimeParts); err != nil {
		return "", err
	}
	c := h.coderunner
	c.env = ourEnv(c.env, making)
	if _, _, err := c.with("warm").run(ctx); err != nil {
		return "", fmt.Errorf("prepare a cache without packages: %w", err)
	}
	return dir, os.Rename(making, dir)
}

// linkParts links the parts that there are.
func linkParts(to, from string, parts []string) error {
	for _, part := range parts {
		err := linkTree(filepath.Join(to, part), filepath.Join(from, part))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy a cache: %w", err)
		}
	}
	return nil
}

// linkTree makes to a copy of from whose files are the same files, where the
// file system can do so. Nothing may write into the files of a copy, and a
// cache does not: it renames others into their place.
func linkTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil
		}
		if os.Link(path, target) == nil {
			return nil
		}
		return copyFile(target, path)
	})
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
