package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"coderunner/internal/session"
)

const (
	tries     = 6
	maxAnswer = 16 << 20 // bytes of XML
	maxWords  = 300      // bytes of an error's
)

// request is one of S3's REST API.
type request struct {
	method string
	key    string // "": the bucket
	query  url.Values
	header http.Header
	data   io.ReadSeeker
	size   int64
}

// failure is an answer that is an error.
type failure struct {
	Code, Message, Region string
	status                int
}

func (f *failure) Error() string {
	return cmp.Or(f.Message, f.Code, http.StatusText(f.status)) + fmt.Sprintf(" (%d %s)", f.status, f.Code)
}

// Is makes it the error that package session knows.
func (f *failure) Is(err error) bool {
	switch err {
	case session.ErrConflict:
		return f.status == http.StatusPreconditionFailed || f.status == http.StatusConflict
	case fs.ErrNotExist:
		return f.Code == "NoSuchKey"
	}
	return false
}

// passes reports whether the same request may succeed later.
func (f *failure) passes() bool {
	return f.status >= 500 && f.status != http.StatusNotImplemented || f.status == http.StatusTooManyRequests || f.status == http.StatusRequestTimeout
}

// address returns the URL of an object, or of the bucket. AWS's hosts have the bucket's name.
func (b *Bucket) address(key string) *url.URL {
	u := url.URL{Scheme: "https", Host: "s3." + b.region + ".amazonaws.com"}
	if strings.HasPrefix(b.region, "cn-") {
		u.Host += ".cn"
	}
	if b.server != nil {
		u = url.URL{Scheme: b.server.Scheme, Host: b.server.Host}
	}
	u.Path = "/" + key
	if s3utils.IsVirtualHostSupported(u, b.name) {
		u.Host = b.name + "." + u.Host
	} else {
		u.Path = "/" + b.name + u.Path
	}
	u.RawPath = s3utils.EncodePath(u.Path)
	return &u
}

// do sends a request, again while the store cannot answer. The caller closes the body.
func (b *Bucket) do(ctx context.Context, r request) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := b.once(ctx, r)
		f, answered := err.(*failure)
		switch {
		case err == nil:
			return answer, nil
		case answered && f.Region != "" && !b.open && try == 1: // the bucket is elsewhere
			b.region = f.Region
			continue
		case try == tries || ctx.Err() != nil || answered && !f.passes():
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(time.Duration(rand.Int64N(int64(100*time.Millisecond) << try))):
		}
	}
}

func (b *Bucket) once(ctx context.Context, r request) (*http.Response, error) {
	value, err := b.creds.GetWithContext(&credentials.CredContext{Client: b.client, Context: ctx})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, "http://bucket", nil)
	if err != nil {
		return nil, err
	}
	req.URL = b.address(r.key)
	req.Host, req.URL.RawQuery = req.URL.Host, r.query.Encode()
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	sum := sha256.New()
	if r.data != nil {
		_, err := r.data.Seek(0, io.SeekStart)
		if err == nil {
			_, err = io.Copy(sum, r.data)
		}
		if _, again := r.data.Seek(0, io.SeekStart); err != nil || again != nil {
			return nil, cmp.Or(err, again)
		}
		if req.ContentLength = r.size; r.size > 0 {
			req.Body = io.NopCloser(r.data)
		}
	}
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum.Sum(nil)))
	answer, err := b.client.Do(signer.SignV4(*req, value.AccessKeyID, value.SecretAccessKey, value.SessionToken, b.region))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	f := &failure{status: answer.StatusCode}
	_ = xml.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(f) // or it is a proxy's page
	f.Region = cmp.Or(answer.Header.Get("X-Amz-Bucket-Region"), f.Region)
	if f.Code == "" && answer.StatusCode == http.StatusNotFound && r.key != "" {
		f.Code = "NoSuchKey"
	}
	for _, words := range []*string{&f.Message, &f.Code} {
		*words = strings.TrimSpace((*words)[:min(len(*words), maxWords)])
	}
	return nil, f
}
