// Package bucket keeps sessions in an S3-compatible store. It is a session.Remote.
//
// The store must know conditional writes (If-None-Match and If-Match of PutObject), as S3,
// MinIO, Ceph, R2 and versitygw do; [Open] tries that out. Of MinIO's client it uses only
// what signs requests and finds credentials: all of it would add 700 KB to the binary.
package bucket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"coderunner/internal/session"
)

// Bucket is a bucket, or what begins with a prefix in it.
type Bucket struct {
	client *http.Client
	creds  *credentials.Credentials
	server *url.URL // nil: AWS's, in the region
	region string
	name   string
	prefix string // "" or with a "/" at its end
	open   bool   // and the region is known
}

// Open opens s3://BUCKET/PREFIX, with the environment variables that AWS's tools know: the
// server (AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL), AWS_REGION, and credentials, which
// otherwise come from the machine's role.
func Open(ctx context.Context, address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address such as s3://BUCKET/PREFIX", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.ResponseHeaderTimeout, transport.DisableCompression = 16, time.Minute, true
	b := &Bucket{
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		name:   u.Host, prefix: strings.Trim(u.Path, "/"),
	}
	if at := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); at != "" {
		b.server, err = url.Parse(at)
		if err != nil || b.server.Host == "" || b.server.Scheme != "http" && b.server.Scheme != "https" {
			return nil, fmt.Errorf("AWS_ENDPOINT_URL: %q is not an http or https URL", at)
		}
	}
	if b.prefix != "" {
		b.prefix += "/"
	}
	if err := b.try(ctx); err != nil {
		return nil, fmt.Errorf("open %s at %s: %w", address, b.address("").Host, err)
	}
	b.open = true
	return b, nil
}

// try finds out whether the store can be used, and heeds conditions: without them two
// servers would both have a session.
func (b *Bucket) try(ctx context.Context) error {
	const key = ".coderunner"
	put := func(only session.Condition) error {
		_, err := b.Put(ctx, key, bytes.NewReader([]byte("x")), 1, only)
		return err
	}
	if err := put(""); err != nil {
		return err
	}
	for _, only := range []session.Condition{session.IfAbsent, "0123456789abcdef0123456789abcdef"} {
		if err := put(only); err == nil {
			return errors.New("it does not know conditional writes (If-None-Match, If-Match)")
		} else if !errors.Is(err, session.ErrConflict) {
			return err
		}
	}
	return nil
}

// Get is for session.Remote.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, string, error) {
	answer, err := b.do(ctx, request{method: http.MethodGet, key: b.prefix + key})
	if err != nil {
		return nil, "", err
	}
	return answer.Body, etag(answer), nil
}

// Put is for session.Remote.
func (b *Bucket) Put(ctx context.Context, key string, data io.ReadSeeker, size int64, only session.Condition) (string, error) {
	r := request{method: http.MethodPut, key: b.prefix + key, header: http.Header{"Content-Type": {"application/octet-stream"}}, data: data, size: size}
	switch only {
	case "":
	case session.IfAbsent:
		r.header.Set("If-None-Match", "*")
	default:
		r.header.Set("If-Match", `"`+string(only)+`"`)
	}
	answer, err := b.do(ctx, r)
	switch {
	case only != "" && only != session.IfAbsent && errors.Is(err, fs.ErrNotExist):
		return "", session.ErrConflict // there is none, so its tag is another
	case err != nil:
		return "", err
	}
	return etag(answer), answer.Body.Close()
}

func etag(answer *http.Response) string { return strings.Trim(answer.Header.Get("ETag"), `"`) }

// result is a ListBucketResult.
type result struct {
	Contents []struct {
		Key          string
		Size         int64
		LastModified time.Time
	}
	CommonPrefixes        []struct{ Prefix string }
	NextContinuationToken string
	EncodingType          string
}

// Bounds of a list: of its pages, and of what is in them.
const (
	maxPages  = 3000
	maxListed = 1 << 20
)

// list calls f for each object, or directory, that begins with a prefix. The store may send
// others, which nobody has asked for, or never end.
func (b *Bucket) list(ctx context.Context, prefix, delimiter string, f func(key string, size int64, changed time.Time)) error {
	prefix = b.prefix + prefix
	listed := 0
	for page, next := 0, ""; ; page++ {
		if page == maxPages || listed > maxListed {
			return fmt.Errorf("the list of objects is too long: %d in %d pages, and there are more", listed, page)
		}
		query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}, "delimiter": {delimiter}}
		if next != "" {
			query.Set("continuation-token", next)
		}
		answer, err := b.do(ctx, request{method: http.MethodGet, query: query})
		if err != nil {
			return err
		}
		var p result
		err = errors.Join(xml.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&p), answer.Body.Close())
		if err != nil {
			return fmt.Errorf("read a list of objects: %w", err)
		}
		plain := func(key string) string {
			if text, err := url.QueryUnescape(key); err == nil && p.EncodingType == "url" {
				return text
			}
			return key
		}
		take := func(key string, size int64, changed time.Time) {
			if key = plain(key); strings.HasPrefix(key, prefix) {
				f(key, size, changed)
			}
		}
		listed += len(p.Contents) + len(p.CommonPrefixes)
		for _, o := range p.Contents {
			take(o.Key, o.Size, o.LastModified)
		}
		for _, o := range p.CommonPrefixes {
			take(o.Prefix, 0, time.Time{})
		}
		if next = p.NextContinuationToken; next == "" {
			return nil
		}
	}
}

// List is for session.Remote.
func (b *Bucket) List(ctx context.Context, prefix string) (objects []session.Object, err error) {
	err = b.list(ctx, prefix, "", func(key string, size int64, changed time.Time) {
		objects = append(objects, session.Object{Key: strings.TrimPrefix(key, b.prefix), Size: size, Changed: changed})
	})
	return objects, err
}

// Names is for session.Remote.
func (b *Bucket) Names(ctx context.Context, prefix string) (names []string, err error) {
	err = b.list(ctx, prefix, "/", func(key string, _ int64, _ time.Time) { names = append(names, path.Base(key)) })
	return names, err
}

// Delete is for session.Remote.
func (b *Bucket) Delete(ctx context.Context, keys []string) error {
	var errs []error
	for _, key := range keys {
		answer, err := b.do(ctx, request{method: http.MethodDelete, key: b.prefix + key})
		if err == nil {
			err = answer.Body.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
