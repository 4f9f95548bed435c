package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

const curlOptions = "s,silent S,show-error f,fail fail-with-body L,location o,output= O,remote-name I,head i,include v,verbose X,request= H,header= d,data= data-raw= data-binary= data-urlencode= data-ascii= F,form= G,get u,user= A,user-agent= e,referer= b,cookie= !c,cookie-jar= k,insecure w,write-out= m,max-time= connect-timeout= compressed T,upload-file= r,range= retry= retry-delay= retry-all-errors retry-connrefused json= url= max-redirs= create-dirs output-dir= N,no-buffer g,globoff q,disable http1.1 http2 !0,http1.0 1,tlsv1 4,ipv4 6,ipv6 #,progress-bar !J,remote-header-name location-trusted !path-as-is oauth2-bearer= D,dump-header= no-progress-meter basic proto= tlsv1.2 tlsv1.3 !x,proxy= !K,config= !E,cert= !cacert= !Z,parallel !resolve= !unix-socket= !socks5="

// curlRun is one transfer of curl.
type curlRun struct {
	c         *command.Call
	o         *command.Options
	body      []byte
	hasBody   bool
	kind      string // the Content-Type of the body
	redirects int
	began     time.Time
	told      bool // writeOut was called
}

func Curl(c *command.Call) int {
	o := c.Parse(curlOptions)
	urls := append(o.Values("url"), o.Args...)
	if len(urls) == 0 {
		c.Warnf("curl: try 'curl --help' for more information\n")
		return 2
	}
	r := &curlRun{c: c, o: o}
	if b := o.Value("b", ""); b != "" && !strings.Contains(b, "=") {
		return c.Die(2, "option '-b' takes NAME=VALUE: files of cookies are not available in this sandbox")
	}
	if err := c.Catch(r.data); err != nil {
		return r.fail(26, "%s", command.Text(err))
	}
	status := 0
	for i, u := range urls {
		status = r.get(u, i)
	}
	return status
}

// get transfers one URL, again as often as --retry allows.
func (r *curlRun) get(target string, index int) (status int) {
	tries := 1
	r.told = false
	if n, ok := command.Atoi(r.o.Value("retry", "0")); ok {
		tries += min(max(n, 0), 100)
	}
	for try := range tries {
		var again bool
		status, again = r.one(target, index)
		again = (again || status != 0 && r.o.On("retry-all-errors")) && (status != 22 || r.c.Name != "wget")
		if !again || try == tries-1 || r.c.Stopped() {
			break
		}
		delay, _ := clock.Duration(r.o.Value("retry-delay", "1"))
		select {
		case <-time.After(delay):
		case <-r.c.Ctx.Done():
		}
	}
	if u, err := url.Parse(target); status != 0 && !r.told && err == nil && r.c.Name == "curl" { // -w is there without an answer, too
		r.writeOut(&http.Response{Request: &http.Request{URL: u}}, 0)
	}
	return status
}

// fail reports an error with curl's status.
func (r *curlRun) fail(status int, format string, args ...any) int {
	if !r.o.On("s") || r.o.On("S") {
		name := fmt.Sprintf("curl: (%d)", status)
		if r.c.Name == "wget" {
			name = "wget:"
		}
		r.c.Warnf("%s %s\n", name, fmt.Sprintf(format, args...))
	}
	return status
}

// request builds the request for a URL.
func (r *curlRun) request(ctx context.Context, target string) (*http.Request, error) {
	c, o := r.c, r.o
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, errCurlURL
	}
	if !r.allows(u.Scheme) {
		return nil, errCurlScheme(u.Scheme)
	}
	method, body, length := "GET", io.Reader(nil), int64(0)
	switch {
	case o.On("T"):
		f, err := c.Open(o.Value("T", ""))
		if err != nil {
			return nil, err
		}
		c.Files = append(c.Files, f)
		method, body = "PUT", f
		if st, err := c.Stat(o.Value("T", "")); err == nil && st.Mode&abi.S_IFMT == abi.S_IFREG {
			length = int64(st.Size)
		}
		if strings.HasSuffix(u.Path, "/") {
			u.Path += command.Base(o.Value("T", ""))
		}
	case r.hasBody && o.On("G"):
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += string(r.body)
	case r.hasBody:
		method, body = "POST", bytes.NewReader(r.body)
	}
	if o.On("I") {
		method = "HEAD"
	}
	req, err := http.NewRequestWithContext(ctx, o.Value("X", method), u.String(), body)
	if err != nil {
		return nil, errCurlURL
	}
	if length > 0 {
		req.ContentLength = length
	}
	r.optionHeaders(req, u.User)
	return req, r.headers(req)
}

// optionHeaders sets the headers that curl sends by itself, and those with options of
// their own.
func (r *curlRun) optionHeaders(req *http.Request, inURL *url.Userinfo) {
	o := r.o
	req.Header.Set("User-Agent", o.Value("A", "curl/8.0"))
	req.Header.Set("Accept", "*/*")
	if r.hasBody && !o.On("G") {
		if req.Header.Set("Content-Type", r.kind); r.kind == "application/json" {
			req.Header.Set("Accept", r.kind)
		}
	}
	user := o.Value("u", "")
	if user == "" && inURL != nil {
		user = inURL.String()
	}
	if user != "" {
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user)))
	}
	for name, header := range map[string]string{"e": "Referer", "r": "Range", "oauth2-bearer": "Authorization", "compressed": "Accept-Encoding"} {
		if o.On(name) {
			prefix := map[string]string{"r": "bytes=", "oauth2-bearer": "Bearer ", "compressed": "gzip"}[name]
			req.Header.Set(header, prefix+o.Value(name, ""))
		}
	}
	if b := o.Value("b", ""); b != "" {
		req.Header.Set("Cookie", b)
	}
}

// allows reports whether --proto allows a scheme: names joined by commas, each with
// "=" (only these), "-" (not this one) or "+" before it.
func (r *curlRun) allows(scheme string) bool {
	allowed := scheme == "http" || scheme == "https"
	ok := allowed
	for p := range strings.SplitSeq(r.o.Value("proto", ""), ",") {
		name := strings.TrimLeft(p, "+-=")
		named := name == scheme || name == "all"
		switch {
		case strings.HasPrefix(p, "="):
			ok = named
		case named:
			ok = p[0] != '-'
		}
	}
	return ok && allowed
}

func (r *curlRun) headers(req *http.Request) error {
	for _, h := range r.o.Values("H") {
		lines := []string{h}
		if strings.HasPrefix(h, "@") {
			data, err := r.c.ReadFile(h[1:])
			if err != nil {
				return err
			}
			lines = strings.Split(strings.TrimSpace(string(data)), "\n")
		}
		for _, l := range lines {
			name, value, ok := strings.Cut(strings.TrimRight(l, "\r"), ":")
			value = strings.TrimSpace(value)
			switch {
			case !ok:
				req.Header[http.CanonicalHeaderKey(strings.TrimSuffix(l, ";"))] = []string{""}
			case value == "":
				req.Header.Del(name)
			case strings.EqualFold(name, "host"):
				req.Host = value
			default:
				req.Header[http.CanonicalHeaderKey(name)] = []string{value}
			}
		}
	}
	return nil
}

var errCurlURL = errors.New("URL rejected: Malformed input to a URL function")

type errCurlScheme string

func (e errCurlScheme) Error() string {
	return fmt.Sprintf("Protocol \"%s\" not supported or disabled in this sandbox", string(e))
}

// one transfers one URL. again reports whether another try may help.
func (r *curlRun) one(target string, index int) (status int, again bool) {
	c, o := r.c, r.o
	ctx := c.Ctx
	if d, ok := clock.Duration(o.Value("m", "0")); ok && d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.Ctx, d)
		defer cancel()
	}
	req, err := r.request(ctx, target)
	if err != nil {
		return r.failed(ctx, err), false
	}
	connect, _ := clock.Duration(o.Value("connect-timeout", "0"))
	t := transport(c, o.On("k"), connect, o.Last("4", "6"))
	defer t.CloseIdleConnections()
	t.ForceAttemptHTTP2 = o.Last("http1.1", "http2") != "http1.1"
	if o.On("tlsv1.3") {
		t.TLSClientConfig.MinVersion = tls.VersionTLS13
	}
	most := 50
	if n, ok := command.Atoi(o.Value("max-redirs", "")); ok {
		most = n
	}
	r.redirects, r.began = 0, time.Now()
	client := &http.Client{Transport: t, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if !o.On("L") && !o.On("location-trusted") {
			return http.ErrUseLastResponse
		}
		if r.redirects++; most >= 0 && r.redirects > most {
			return errTooManyRedirects
		}
		if !r.allows(next.URL.Scheme) {
			return errCurlScheme(next.URL.Scheme)
		}
		if o.On("i") && next.Response != nil {
			c.Print(curlHead(next.Response))
		}
		return nil
	}}
	r.trace("> ", func() string {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", req.Method, req.URL.RequestURI(), req.URL.Host)
		for k, v := range req.Header {
			head += k + ": " + strings.Join(v, ", ") + "\r\n"
		}
		return head
	})
	res, err := client.Do(req)
	if err != nil {
		status := r.failed(ctx, err)
		var dial *dialError
		starts := errors.As(err, &dial) && dial.own && o.On("retry-connrefused") // the program's own server, perhaps
		return status, status == 7 && !refused(err) || status == 28 || starts
	}
	defer res.Body.Close()
	r.trace("< ", func() string { return curlHead(res) })
	status = r.receive(res, index)
	return status, res.StatusCode >= 500 || res.StatusCode == 429 || res.StatusCode == 408
}

var errTooManyRedirects = errors.New("too many redirects")
