package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// ErrOffline is wrapped by the error for something that is not in the cache
// and may not be fetched.
var ErrOffline = errors.New("not in the cache, and fetching is switched off")

// HTTPError is an answer with a status that is not a success.
type HTTPError struct {
	Status int
	URL    string // without user, password, query and fragment
}

func (e *HTTPError) Error() string {
	text := http.StatusText(e.Status)
	if text == "" {
		text = "no success"
	}
	return fmt.Sprintf("%s: %d %s", e.URL, e.Status, text)
}

// DigestError is a download that is not what was asked for.
type DigestError struct {
	Name      string
	URL       string // as in [HTTPError]
	Want, Got Digest
	Size      int64 // bytes received
	HTML      bool  // what came looks like a web page: a proxy's or a login's
}

func (e *DigestError) Error() string {
	msg := fmt.Sprintf("%s is not what was asked for: %d bytes with %s, want %s", e.URL, e.Size, e.Got, e.Want)
	if e.HTML {
		msg += "; hint: the answer is a web page: is a proxy or a login in the way?"
	}
	return msg
}

// SizeError is something that is larger than it may be.
type SizeError struct {
	Name string
	Max  int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: more than the allowed %d bytes", e.Name, e.Max)
}

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

// Hint is what the user can do about it, or "".
func (e *StorageError) Hint() string {
	switch {
	case errors.Is(e.Err, syscall.ENOSPC):
		return "the disk is full: free some space, or set CODE_RUNNER_CACHE_DIR to a folder on another disk"
	case errors.Is(e.Err, syscall.EDQUOT):
		return "the disk quota is used up: free some space, or set CODE_RUNNER_CACHE_DIR to a folder elsewhere"
	case errors.Is(e.Err, syscall.EFBIG):
		return "files of this size are not allowed here: raise the limit (ulimit -f), or set CODE_RUNNER_CACHE_DIR to a folder on another disk"
	case errors.Is(e.Err, syscall.EROFS), errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.ENOTDIR):
		return "set CODE_RUNNER_CACHE_DIR to a folder that can be written"
	case errors.Is(e.Err, syscall.EMFILE), errors.Is(e.Err, syscall.ENFILE):
		return "too many files are open: raise the limit (ulimit -n)"
	}
	return ""
}

// withHint adds the way out to a builder's error that is the disk's.
func withHint(err error) error {
	var have *StorageError
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
	if !full || errors.As(err, &have) {
		return err
	}
	return fmt.Errorf("%w; hint: %s", err, (&StorageError{Err: err}).Hint())
}

// storageError wraps err, without the operation and path that package os has
// already put in front of it.
func storageError(op, path string, err error) error {
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

// syncUnsupported reports whether a file system merely cannot sync folders.
func syncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}

// safeURL is u without what may be secret: user, password, query, fragment.
func safeURL(u *url.URL) string {
	if u == nil {
		return "(no URL)"
	}
	clean := *u
	clean.User, clean.RawQuery, clean.ForceQuery = nil, "", false
	clean.Fragment, clean.RawFragment = "", ""
	s := clean.String()
	if u.RawQuery != "" {
		s += "?…"
	}
	return s
}
