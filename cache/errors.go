package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// StorageError is a failure of the disk, not of the network.
type StorageError struct {
	Op   string // "write", "rename"
	Path string
	Err  error
}

func (e *StorageError) Error() string {
	msg := fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err)
	if h := e.Hint(); h != "" {
		msg += "; hint: " + h
	}
	return msg
}

func (e *StorageError) Unwrap() error { return e.Err }

// Hint returns what the user can do about it, or "".
func (e *StorageError) Hint() string {
	switch {
	case errors.Is(e.Err, syscall.ENOSPC):
		return "the disk is full: free some space, or set CODE_RUNNER_CACHE_DIR to a directory on another disk"
	case errors.Is(e.Err, syscall.EDQUOT):
		return "the disk quota is used up: free some space, or set CODE_RUNNER_CACHE_DIR to a directory elsewhere"
	case errors.Is(e.Err, syscall.EFBIG):
		return "files of this size are not allowed here: raise the limit (ulimit -f), or set CODE_RUNNER_CACHE_DIR to a directory on another disk"
	case errors.Is(e.Err, syscall.EROFS), errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.ENOTDIR):
		return "set CODE_RUNNER_CACHE_DIR to a directory that can be written"
	case errors.Is(e.Err, syscall.EMFILE), errors.Is(e.Err, syscall.ENFILE):
		return "too many files are open: raise the limit (ulimit -n)"
	}
	return ""
}

// withHint adds a StorageError's hint to err. It returns nil for a nil err.
func withHint(err error) error {
	var have *StorageError
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
	if !full || errors.As(err, &have) {
		return err
	}
	return fmt.Errorf("%w; hint: %s", err, (&StorageError{Err: err}).Hint())
}

// NewStorageError wraps err, replacing package os's own wrapper. It returns nil
// for a nil err.
func NewStorageError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var have *StorageError
	if errors.As(err, &have) {
		return err
	}
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		path, err = pe.Path, pe.Err
	case errors.As(err, &le):
		path, err = le.New, le.Err
	}
	return &StorageError{Op: op, Path: path, Err: err}
}

// ContextErr joins ctx.Err with its cause. ctx has ended.
func ContextErr(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// syncUnsupported reports whether a file system merely cannot sync directories.
func syncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}
