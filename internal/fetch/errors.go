package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"coderunner/cache"
)

// ErrOffline is wrapped by errors for a file that is not in the cache and may not
// be fetched.
var ErrOffline = errors.New("not in the cache, and fetching is switched off")

// HTTPError is an answer with an unsuccessful status.
type HTTPError struct {
	Status int
	URL    string // without user, password, query and fragment
}

func (e *HTTPError) Error() string {
	text := cmp.Or(http.StatusText(e.Status), "no success")
	return fmt.Sprintf("%s: %d %s", e.URL, e.Status, text)
}

// DigestError is a download with an unexpected digest.
type DigestError struct {
	URL       string // as in [HTTPError]
	Want, Got cache.Digest
	Size      int64 // bytes received
	HTML      bool  // the body looks like a web page, perhaps a proxy's or a login's
}

func (e *DigestError) Error() string {
	msg := fmt.Sprintf("%s is not what was asked for: %d bytes with %s, want %s", e.URL, e.Size, e.Got, e.Want)
	if e.HTML {
		msg += "; hint: the answer is a web page: is a proxy or a login in the way?"
	}
	return msg
}

// SizeError is a document or download above its size limit.
type SizeError struct {
	Name string
	Max  int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: more than the allowed %d bytes", e.Name, e.Max)
}

// redirectError is a redirect or link that is not followed. It is not retried.
type redirectError struct{ msg string }

func (e *redirectError) Error() string { return e.msg }

// statusError is an *HTTPError with the pause that the server asks for.
type statusError struct {
	HTTPError
	after time.Duration
}

func (e *statusError) Unwrap() error { return &e.HTTPError }

// isOwn reports whether err is of this package or the cache: it needs no hint.
func isOwn(err error) bool {
	var digest *DigestError
	var size *SizeError
	var storage *cache.StorageError
	return errors.As(err, &digest) || errors.As(err, &size) || errors.As(err, &storage)
}
