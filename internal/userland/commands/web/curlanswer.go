package web

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// trace prints the lines of -v.
func (r *curlRun) trace(mark string, head func() string) {
	if r.o.On("v") {
		for l := range strings.SplitSeq(strings.TrimRight(head(), "\r\n")+"\n", "\n") {
			r.c.Warnf("%s%s\n", mark, strings.TrimRight(l, "\r"))
		}
	}
}

// failed reports why a transfer failed.
func (r *curlRun) failed(ctx context.Context, err error) int {
	var lookup *lookupError
	var dial *dialError
	var scheme errCurlScheme
	var unknown x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errCurlURL):
		return r.fail(3, "%s", err)
	case errors.As(err, &scheme):
		return r.fail(1, "%s", err)
	case errors.As(err, &lookup) && refused(err):
		return r.fail(6, "%s: %s", lookup, lookup.err)
	case errors.As(err, &lookup):
		return r.fail(6, "%s", lookup)
	case r.c.Ctx.Err() == nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		return r.fail(28, "Operation timed out after %d milliseconds", time.Since(r.began).Milliseconds())
	case errors.As(err, &dial):
		return r.fail(7, "%s", dial)
	case errors.Is(err, errTooManyRedirects):
		return r.fail(47, "Maximum (%d) redirects followed", r.redirects-1)
	case errors.As(err, &verify) || errors.As(err, &unknown):
		return r.fail(60, "SSL certificate problem: %s", verify.Err)
	case errors.Is(err, io.EOF):
		return r.fail(52, "Empty reply from server")
	case errors.Is(err, abi.ENOENT):
		return r.fail(26, "Can't open '%s'!", r.o.Value("T", ""))
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return r.fail(56, "%s", err)
}

func curlHead(res *http.Response) string {
	var b strings.Builder
	proto := res.Proto
	line := res.Status
	if res.ProtoMajor == 2 {
		proto, line = "HTTP/2", fmt.Sprintf("%d ", res.StatusCode)
	}
	fmt.Fprintf(&b, "%s %s\r\n", proto, line)
	res.Header.Write(&b)
	b.WriteString("\r\n")
	return b.String()
}

// receive writes the answer where it should go.
func (r *curlRun) receive(res *http.Response, index int) int {
	c, o := r.c, r.o
	if res.StatusCode >= 400 && o.On("f") {
		r.writeOut(res, 0)
		return r.fail(22, "The requested URL returned error: %d", res.StatusCode)
	}
	var body io.Reader = res.Body
	if o.On("compressed") && res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return r.fail(61, "Error while processing content unencoding")
		}
		body = z
	}
	out, done, err := r.output(res, index)
	if err != nil {
		return r.fail(23, "Failure writing output to destination: %s", command.Text(err))
	}
	if o.On("i") || o.On("I") {
		io.WriteString(out, curlHead(res))
	}
	if name := o.Value("D", ""); name != "" {
		if name == "-" {
			c.Print(curlHead(res))
		} else if e := c.FS.WriteFile(c.Canonical(name, false), []byte(curlHead(res)), 0o666&^c.Process.Umask); e != nil {
			return r.fail(23, "Failed to open %s", name)
		}
	}
	n, err := io.Copy(out, c.Guarded(body))
	if err = cmp.Or(err, done()); err != nil {
		if errors.Is(err, abi.ENOSPC) || errors.Is(err, abi.EPIPE) {
			return r.fail(23, "Failure writing output to destination")
		}
		return r.failed(res.Request.Context(), err)
	}
	r.writeOut(res, n)
	if res.StatusCode >= 400 && o.On("fail-with-body") {
		return r.fail(22, "The requested URL returned error: %d", res.StatusCode)
	}
	return 0
}

// output opens what -o and -O name.
func (r *curlRun) output(res *http.Response, index int) (io.Writer, func() error, error) {
	names := r.o.Values("o")
	name := ""
	switch {
	case index < len(names):
		name = names[index]
	case r.o.On("O"):
		if name = path.Base(res.Request.URL.Path); res.Request.Response != nil || name == "/" || name == "." {
			name = path.Base(strings.TrimSuffix(name, "/"))
		}
		if name == "/" || name == "." {
			name = "curl_response"
		}
	}
	if name == "" || name == "-" {
		return command.Unbuffered(r.c), func() error { return nil }, nil
	}
	name = command.JoinPath(r.o.Value("output-dir", ""), name)
	if r.o.On("create-dirs") {
		r.c.MkdirAll(r.c.Canonical(command.Dir(name), false))
	}
	f, err := r.c.Create(name)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

// writeOut prints the format of -w.
func (r *curlRun) writeOut(res *http.Response, n int64) {
	r.told = true
	format := r.o.Value("w", "")
	u := res.Request.URL.String()
	for _, v := range [][2]string{
		{"%{http_code}", fmt.Sprintf("%03d", res.StatusCode)}, {"%{response_code}", fmt.Sprintf("%03d", res.StatusCode)},
		{"%{size_download}", fmt.Sprint(n)}, {"%{url_effective}", u}, {"%{url}", u},
		{"%{content_type}", res.Header.Get("Content-Type")}, {"%{num_redirects}", fmt.Sprint(r.redirects)},
		{"%{redirect_url}", res.Header.Get("Location")}, {"%{method}", res.Request.Method},
		{"%{time_total}", fmt.Sprintf("%.6f", time.Since(r.began).Seconds())},
		{`\n`, "\n"}, {`\t`, "\t"}, {`\r`, "\r"}, {"%%", "%"},
	} {
		format = strings.ReplaceAll(format, v[0], v[1])
	}
	r.c.Print(format)
}
