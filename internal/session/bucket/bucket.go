// Package bucket keeps sessions in an S3-compatible store. It is a session.Remote.
//
// The store must know conditional writes (If-None-Match and If-Match of PutObject), as
// S3, MinIO, Ceph, R2 and versitygw do; [Open] tries that out.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"coderunner/internal/session"
)

// Bucket is a bucket, or what begins with a prefix in it.
type Bucket struct {
	client *minio.Client
	name   string
	prefix string // "" or with a "/" at its end
}

// Open opens s3://BUCKET/PREFIX, with the environment variables that AWS's tools know: the
// server (AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL), AWS_REGION, and credentials, which
// otherwise come from the machine's role.
func Open(ctx context.Context, address string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address such as s3://BUCKET/PREFIX", address)
	}
	at := "https://s3.amazonaws.com"
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		if v := os.Getenv(name); v != "" {
			at = v
		}
	}
	server, err := url.Parse(at)
	if err != nil || server.Host == "" || server.Scheme != "http" && server.Scheme != "https" {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %q is not an http or https URL", at)
	}
	region := os.Getenv("AWS_REGION")
	if region == "" {
		region = os.Getenv("AWS_DEFAULT_REGION")
	}
	client, err := minio.New(server.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
		Secure: server.Scheme == "https", Region: region,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	b := &Bucket{client: client, name: u.Host, prefix: strings.Trim(u.Path, "/")}
	if b.prefix != "" {
		b.prefix += "/"
	}
	if err := b.try(ctx); err != nil {
		return nil, fmt.Errorf("open %s at %s: %w", address, server.Host, err)
	}
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

// known makes an error one that package session knows.
func known(err error) error {
	switch answer := minio.ToErrorResponse(err); {
	case err == nil:
		return nil
	case answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict ||
		answer.Code == minio.PreconditionFailed || answer.Code == "ConditionalRequestConflict":
		return session.ErrConflict
	case answer.Code == minio.NoSuchKey:
		return fs.ErrNotExist
	}
	return err
}

// Get is for session.Remote.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, string, error) {
	r, about, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, "", known(err)
	}
	return r, about.ETag, nil
}

// Put is for session.Remote.
func (b *Bucket) Put(ctx context.Context, key string, data io.ReadSeeker, size int64, only session.Condition) (string, error) {
	o := minio.PutObjectOptions{DisableMultipart: true} // which knows no conditions everywhere
	switch only {
	case "":
	case session.IfAbsent:
		o.SetMatchETagExcept("*")
	default:
		o.SetMatchETag(string(only))
	}
	about, err := b.client.PutObject(ctx, b.name, b.prefix+key, data, size, o)
	switch is := known(err); {
	case only != "" && only != session.IfAbsent && errors.Is(is, fs.ErrNotExist):
		return "", session.ErrConflict // there is none, so its tag is another
	default:
		return about.ETag, is
	}
}

// List is for session.Remote.
func (b *Bucket) List(ctx context.Context, prefix string) (objects []session.Object, err error) {
	for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, known(o.Err)
		}
		objects = append(objects, session.Object{Key: strings.TrimPrefix(o.Key, b.prefix), Size: o.Size, Changed: o.LastModified})
	}
	return objects, ctx.Err()
}

// Names is for session.Remote.
func (b *Bucket) Names(ctx context.Context, prefix string) (names []string, err error) {
	for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix}) {
		if o.Err != nil {
			return nil, known(o.Err)
		}
		names = append(names, path.Base(o.Key))
	}
	return names, ctx.Err()
}

// Delete is for session.Remote.
func (b *Bucket) Delete(ctx context.Context, keys []string) error {
	var errs []error
	for _, key := range keys {
		errs = append(errs, known(b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})))
	}
	return errors.Join(errs...)
}
