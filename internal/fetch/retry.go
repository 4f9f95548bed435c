package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"coderunner/cache"
)

// fetch makes the request and calls use with the response; a broken transfer
// calls use again. Use must not keep the body. Its errors that are not the network's
// are of a type of this package or of cache.
func (c *Client) fetch(ctx context.Context, r request, use func(answer) error) error {
	ctx, err := c.checkLink(ctx, r)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", r.name, err)
	}
	if r.url.Scheme == "file" {
		if err := fetchFile(r, use); err != nil {
			return explain(r, 1, err)
		}
		return nil
	}
	wait := c.backoff
	for n := 1; ; n++ {
		err := c.attempt(ctx, r, use)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("fetch %s: %w", r.name, cache.ContextErr(ctx))
		}
		attempts, after := retriable(err)
		if n >= min(attempts, c.attempts) {
			return explain(r, n, err)
		}
		pause := wait + rand.N(wait/4+1)
		if after > 0 {
			pause = min(after, c.maxWait)
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("fetch %s: %w", r.name, cache.ContextErr(ctx))
		}
		wait *= 3
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errStalled is the cause of an aborted transfer.
var errStalled = errors.New("the transfer stalled")

// attempt makes the request once.
func (c *Client) attempt(ctx context.Context, r request, use func(answer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.stall, func() { cancel(errStalled) })
	defer timer.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url.String(), nil)
	if err != nil {
		return err
	}
	for name, values := range r.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", userAgent)
	if r.raw {
		req.Header.Set("Accept-Encoding", "identity")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return stallCause(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return &statusError{
			HTTPError: HTTPError{Status: resp.StatusCode, URL: safeURL(resp.Request.URL)},
			after:     retryAfter(resp.Header.Get("Retry-After")),
		}
	}
	body := &watchedReader{r: resp.Body, progress: func() { timer.Reset(c.stall) }}
	err = use(answer{resp.Header, resp.Request.URL, resp.ContentLength, body})
	return stallCause(ctx, err)
}

// stallCause returns errStalled for a request that was aborted, else err.
func stallCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// watchedReader resets the stall timer every minProgress bytes, so a trickle
// counts as stalled.
type watchedReader struct {
	r        io.Reader
	pending  int
	progress func()
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.pending += n; w.pending >= minProgress {
		w.pending = 0
		w.progress()
	}
	return n, err
}

// retryAfter parses a Retry-After header, in seconds or a date; 0 if it is neither.
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if when, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(when))
	}
	return 0
}

// retriable returns the maximum number of attempts after err, counting the one
// that failed, and the pause that the server asks for.
func retriable(err error) (attempts int, after time.Duration) {
	var status *statusError
	var redirect *redirectError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	switch {
	case errors.As(err, &status):
		if status.Status == http.StatusTooManyRequests || status.Status >= 500 {
			return 4, status.after
		}
		return 1, 0
	case isOwn(err), errors.As(err, &redirect), errors.As(err, &cert), errors.As(err, &record):
		return 1, 0
	case errors.As(err, &dns) && dns.IsNotFound && !dns.IsTemporary:
		return 1, 0 // an answer: the host does not exist
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EHOSTUNREACH):
		return 2, 0 // most likely there is no network: report it soon
	case errors.Is(err, errStalled):
		return 2, 0 // each has cost the whole stall time already
	}
	return 4, 0
}

// explain returns the error for the caller of fetch.
func explain(r request, attempts int, err error) error {
	where := safeURL(r.url)
	named := r.name == where // the name is not repeated
	var status *statusError
	switch {
	case errors.As(err, &status) && named:
		return fmt.Errorf("fetch %w%s", &status.HTTPError, tried(attempts))
	case errors.As(err, &status):
		return fmt.Errorf("fetch %s: %w%s", r.name, &status.HTTPError, tried(attempts))
	case isOwn(err):
		return fmt.Errorf("fetch %s: %w", r.name, err)
	}
	// A *url.Error repeats the URL with its query.
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if !named {
		where = r.name + " from " + where
	}
	return fmt.Errorf("fetch %s: %w%s%s", where, &redacted{err}, tried(attempts), networkHint(err))
}

func tried(attempts int) string {
	if attempts == 1 {
		return ""
	}
	return fmt.Sprintf(" (after %d attempts)", attempts)
}

const reachHint = "; hint: is there a network? A proxy is named in HTTPS_PROXY"

func networkHint(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &cert):
		return "; hint: if the network has a certificate authority of its own, name its file in SSL_CERT_FILE"
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EHOSTUNREACH):
		return reachHint
	}
	return ""
}
