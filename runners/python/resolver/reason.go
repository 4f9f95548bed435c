package resolver

import (
	"errors"
	"net/url"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/runners/python/wheel"
)

var errNoHash = errors.New("the index states no SHA-256 for it, and without one it is not trusted")

// fetchError is a wheel that could not be fetched.
type fetchError struct{ err error }

func (e *fetchError) Error() string { return "its wheel cannot be fetched: " + e.err.Error() }

func (e *fetchError) Unwrap() error { return e.err }

var errNoProject = errors.New("no such project")

// indexError is a failure of the index itself.
type indexError struct{ err error }

func (e *indexError) Error() string { return e.err.Error() }

func (e *indexError) Unwrap() error { return e.err }

// NoSuchPackage begins the reason when the index does not have a name.
const NoSuchPackage = "there is no package of this name"

// reason returns an error's text for the user. expected is false for our own
// errors, which are not a reason why a package cannot be installed.
func (s *session) reason(err error) (text string, expected bool) {
	if _, ok := errors.AsType[*wheel.RefusedError](err); ok {
		return err.Error(), true
	}
	if failed, ok := errors.AsType[*BuildError](err); ok {
		return "it has only an sdist, and " + failed.Reason, true
	}
	if wrong, ok := errors.AsType[*fetch.DigestError](err); ok {
		return "hash mismatch: " + wrong.Error(), true
	}
	if large, ok := errors.AsType[*fetch.SizeError](err); ok {
		return large.Error(), true
	}
	if _, ok := errors.AsType[*cache.StorageError](err); ok {
		return "", false
	}
	switch {
	case errors.Is(err, errNoProject):
		return NoSuchPackage + " on " + hostOf(s.index), true
	case errors.Is(err, errNoHash):
		return err.Error(), true
	case errors.Is(err, fetch.ErrOffline):
		return "offline: " + fetch.ErrOffline.Error(), true
	}
	if index, ok := errors.AsType[*indexError](err); ok {
		return "the index " + hostOf(s.index) + " cannot be used: " + index.Error(), true
	}
	if fetch, ok := errors.AsType[*fetchError](err); ok {
		return fetch.Error(), true
	}
	return "", false
}

// hostOf returns a registry's host, without the secrets that its URL may have.
func hostOf(u *url.URL) string {
	if u.Scheme == "file" {
		return u.Path
	}
	return u.Host
}

// baseError is a package of the lock file that could not be fetched.
type baseError struct {
	name string
	err  error
}

func (e *baseError) Error() string { return e.name + ": " + e.err.Error() }

func (e *baseError) Unwrap() error { return e.err }
