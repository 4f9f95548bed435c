package commands

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/pyodide/abi"
)

const curlOptions = "s,silent S,show-error f,fail fail-with-body L,location o,output= O,remote-name I,head i,include v,verbose X,request= H,header= d,data= data-raw= data-binary= data-urlencode= data-ascii= F,form= G,get u,user= A,user-agent= e,referer= b,cookie= !c,cookie-jar= k,insecure w,write-out= m,max-time= connect-timeout= compressed T,upload-file= r,range= retry= retry-delay= retry-all-errors json= url= max-redirs= create-dirs output-dir= N,no-buffer g,globoff q,disable http1.1 http2 !0,http1.0 1,tlsv1 4,ipv4 6,ipv6 #,progress-bar !J,remote-header-name location-trusted !path-as-is oauth2-bearer= D,dump-header= no-progress-meter basic proto= tlsv1.2 tlsv1.3 !x,proxy= !K,config= !E,cert= !cacert= !Z,parallel !resolve= !unix-socket= !socks5="

// curlRun is one transfer of curl.
type curlRun struct {
	c         *call
	o         *options
	body      []byte
	hasBody   bool
	kind      string // the Content-Type of the body
	redirects int
	began     time.Time
}

func curl(c *call) int {
	o, status := c.options(curlOptions)
	if o == nil {
		if status != 0 {
			c.warnf("curl: try 'curl --help' for more information\n")
		}
		return status
	}
	urls := append(o.values("url"), o.args...)
	if len(urls) == 0 {
		c.warnf("curl: try 'curl --help' for more information\n")
		return 2
	}
	r := &curlRun{c: c, o: o}
	if b := o.value("b", ""); b != "" && !strings.Contains(b, "=") {
		return c.die(2, "option '-b' takes NAME=VALUE: files of cookies are not available in this sandbox")
	}
	if err := r.data(); err != nil {
		return r.fail(26, "%s", text(err))
	}
	for i, u := range urls {
		status = r.get(u, i)
	}
	return status
}

// get transfers one URL, again as often as --retry allows.
func (r *curlRun) get(target string, index int) (status int) {
	tries := 1
	if n, ok := atoi(r.o.value("retry", "0")); ok {
		tries += min(max(n, 0), 100)
	}
	for try := range tries {
		var again bool
		status, again = r.one(target, index)
		again = (again || status != 0 && r.o.on("retry-all-errors")) && (status != 22 || r.c.name != "wget")
		if !again || try == tries-1 || r.c.stopped() {
			break
		}
		delay, _ := duration(r.o.value("retry-delay", "1"))
		select {
		case <-time.After(delay):
		case <-r.c.ctx.Done():
		}
	}
	return status
}

// fail reports an error with curl's status.
func (r *curlRun) fail(status int, format string, args ...any) int {
	if !r.o.on("s") || r.o.on("S") {
		name := fmt.Sprintf("curl: (%d)", status)
		if r.c.name == "wget" {
			name = "wget:"
		}
		r.c.warnf("%s %s\n", name, fmt.Sprintf(format, args...))
	}
	return status
}

// data builds the body from -d, -F and the like.
func (r *curlRun) data() error {
	var form *multipart.Writer
	var buf bytes.Buffer
	for _, s := range r.o.set {
		value := []byte(s.value)
		if strings.HasPrefix(s.name, "d") && strings.HasPrefix(s.name, "data") || s.name == "d" || s.name == "json" {
			if s.name != "data-raw" && s.name != "data-urlencode" && strings.HasPrefix(s.value, "@") {
				data, err := r.c.readFile(s.value[1:])
				if err != nil {
					return fmt.Errorf("Failed to open %s", s.value[1:])
				}
				if value = data; s.name == "d" || s.name == "data-ascii" {
					value = bytes.ReplaceAll(bytes.ReplaceAll(value, []byte("\r"), nil), []byte("\n"), nil)
				}
			}
			if s.name == "data-urlencode" {
				name, v, ok := strings.Cut(s.value, "=")
				if !ok {
					name, v = "", s.value
				}
				value = []byte(strings.ReplaceAll(url.QueryEscape(v), "+", "%20"))
				if name != "" {
					value = append([]byte(name+"="), value...)
				}
			}
			if r.hasBody && s.name != "json" {
				r.body = append(r.body, '&')
			}
			r.body, r.hasBody = append(r.body, value...), true
			if r.kind = "application/x-www-form-urlencoded"; s.name == "json" {
				r.kind = "application/json"
			}
		}
		if s.name == "F" {
			if form == nil {
				form = multipart.NewWriter(&buf)
			}
			if err := r.part(form, s.value); err != nil {
				return err
			}
		}
	}
	if form != nil {
		form.Close()
		r.body, r.hasBody, r.kind = buf.Bytes(), true, form.FormDataContentType()
	}
	return nil
}

// part adds a field of -F: name=value, name=@file or name=<file.
func (r *curlRun) part(form *multipart.Writer, s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("Illegally formatted input field: %s", s)
	}
	if value == "" || value[0] != '@' && value[0] != '<' {
		return form.WriteField(name, value)
	}
	file, params, _ := strings.Cut(value[1:], ";")
	data, err := r.c.readFile(file)
	if err != nil {
		return fmt.Errorf("Failed to open/read local data from file/application")
	}
	if value[0] == '<' {
		return form.WriteField(name, string(data))
	}
	h := textproto.MIMEHeader{}
	kind, filename := "application/octet-stream", base(file)
	for p := range strings.SplitSeq(params, ";") {
		if k, v, ok := strings.Cut(p, "="); ok && k == "type" {
			kind = v
		} else if ok && k == "filename" {
			filename = v
		}
	}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, name, filename))
	h.Set("Content-Type", kind)
	w, err := form.CreatePart(h)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
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
	method, body := "GET", io.Reader(nil)
	switch {
	case o.on("T"):
		f, err := c.open(o.value("T", ""))
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, f)
		method, body = "PUT", f
		if strings.HasSuffix(u.Path, "/") {
			u.Path += base(o.value("T", ""))
		}
	case r.hasBody && o.on("G"):
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += string(r.body)
	case r.hasBody:
		method, body = "POST", bytes.NewReader(r.body)
	}
	if o.on("I") {
		method = "HEAD"
	}
	req, err := http.NewRequestWithContext(ctx, o.value("X", method), u.String(), body)
	if err != nil {
		return nil, errCurlURL
	}
	req.Header.Set("User-Agent", o.value("A", "curl/8.0"))
	req.Header.Set("Accept", "*/*")
	if r.hasBody && !o.on("G") {
		if req.Header.Set("Content-Type", r.kind); r.kind == "application/json" {
			req.Header.Set("Accept", r.kind)
		}
	}
	user := o.value("u", "")
	if user == "" && u.User != nil {
		user = u.User.String()
	}
	if user != "" {
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user)))
	}
	for name, header := range map[string]string{"e": "Referer", "r": "Range", "oauth2-bearer": "Authorization", "compressed": "Accept-Encoding"} {
		if o.on(name) {
			prefix := map[string]string{"r": "bytes=", "oauth2-bearer": "Bearer ", "compressed": "gzip"}[name]
			req.Header.Set(header, prefix+o.value(name, ""))
		}
	}
	if b := o.value("b", ""); b != "" {
		req.Header.Set("Cookie", b)
	}
	return req, r.headers(req)
}

// allows reports whether --proto allows a scheme: names joined by commas, each with
// "=" (only these), "-" (not this one) or "+" before it.
func (r *curlRun) allows(scheme string) bool {
	allowed := scheme == "http" || scheme == "https"
	ok := allowed
	for p := range strings.SplitSeq(r.o.value("proto", ""), ",") {
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
	for _, h := range r.o.values("H") {
		lines := []string{h}
		if strings.HasPrefix(h, "@") {
			data, err := r.c.readFile(h[1:])
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
	ctx := c.ctx
	if d, ok := duration(o.value("m", "0")); ok && d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.ctx, d)
		defer cancel()
	}
	req, err := r.request(ctx, target)
	if err != nil {
		return r.failed(ctx, err, target), false
	}
	connect, _ := duration(o.value("connect-timeout", "0"))
	t := c.transport(o.on("k"), connect, o.last("4", "6"))
	defer t.CloseIdleConnections()
	t.ForceAttemptHTTP2 = o.last("http1.1", "http2") != "http1.1"
	if o.on("tlsv1.3") {
		t.TLSClientConfig.MinVersion = tls.VersionTLS13
	}
	most := 50
	if n, ok := atoi(o.value("max-redirs", "")); ok {
		most = n
	}
	r.redirects, r.began = 0, time.Now()
	client := &http.Client{Transport: t, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if !o.on("L") && !o.on("location-trusted") {
			return http.ErrUseLastResponse
		}
		if r.redirects++; most >= 0 && r.redirects > most {
			return errTooManyRedirects
		}
		if !r.allows(next.URL.Scheme) {
			return errCurlScheme(next.URL.Scheme)
		}
		if o.on("i") && next.Response != nil {
			c.print(curlHead(next.Response))
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
		status := r.failed(ctx, err, target)
		return status, status == 7 && !refused(err) || status == 28
	}
	defer res.Body.Close()
	r.trace("< ", func() string { return curlHead(res) })
	status = r.receive(res, index)
	return status, res.StatusCode >= 500 || res.StatusCode == 429 || res.StatusCode == 408
}

// trace prints the lines of -v.
func (r *curlRun) trace(mark string, head func() string) {
	if r.o.on("v") {
		for l := range strings.SplitSeq(strings.TrimRight(head(), "\r\n")+"\n", "\n") {
			r.c.warnf("%s%s\n", mark, strings.TrimRight(l, "\r"))
		}
	}
}

var errTooManyRedirects = errors.New("too many redirects")

// failed reports why a transfer failed.
func (r *curlRun) failed(ctx context.Context, err error, target string) int {
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
	case r.c.ctx.Err() == nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
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
		return r.fail(26, "Can't open '%s'!", r.o.value("T", ""))
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
	if res.StatusCode >= 400 && o.on("f") {
		r.writeOut(res, 0)
		return r.fail(22, "The requested URL returned error: %d", res.StatusCode)
	}
	var body io.Reader = res.Body
	if o.on("compressed") && res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return r.fail(61, "Error while processing content unencoding")
		}
		body = z
	}
	out, done, err := r.output(res, index)
	if err != nil {
		return r.fail(23, "Failure writing output to destination: %s", text(err))
	}
	if o.on("i") || o.on("I") {
		io.WriteString(out, curlHead(res))
	}
	if name := o.value("D", ""); name != "" {
		if name == "-" {
			c.print(curlHead(res))
		} else if e := c.fs.WriteFile(c.canonical(name, false), []byte(curlHead(res)), 0o644); e != nil {
			return r.fail(23, "Failed to open %s", name)
		}
	}
	n, err := io.Copy(out, &guard{c, body})
	if e := done(); err == nil {
		err = e
	}
	if err != nil {
		if errors.Is(err, abi.ENOSPC) || errors.Is(err, abi.EPIPE) {
			return r.fail(23, "Failure writing output to destination")
		}
		return r.failed(res.Request.Context(), err, "")
	}
	r.writeOut(res, n)
	if res.StatusCode >= 400 && o.on("fail-with-body") {
		return r.fail(22, "The requested URL returned error: %d", res.StatusCode)
	}
	return 0
}

// output opens what -o and -O name.
func (r *curlRun) output(res *http.Response, index int) (io.Writer, func() error, error) {
	names := r.o.values("o")
	name := ""
	switch {
	case index < len(names):
		name = names[index]
	case r.o.on("O"):
		if name = path.Base(res.Request.URL.Path); res.Request.Response != nil || name == "/" || name == "." {
			name = path.Base(strings.TrimSuffix(name, "/"))
		}
		if name == "/" || name == "." {
			name = "curl_response"
		}
	}
	if name == "" || name == "-" {
		return flusher{r.c}, func() error { return nil }, nil
	}
	name = joinPath(r.o.value("output-dir", ""), name)
	if r.o.on("create-dirs") {
		r.c.fs.MkdirAll(r.c.canonical(dir(name), false), 0o755)
	}
	f, err := r.c.create(name)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

// writeOut prints the format of -w.
func (r *curlRun) writeOut(res *http.Response, n int64) {
	format := r.o.value("w", "")
	u := res.Request.URL.String()
	for _, v := range [][2]string{
		{"%{http_code}", fmt.Sprint(res.StatusCode)}, {"%{response_code}", fmt.Sprint(res.StatusCode)},
		{"%{size_download}", fmt.Sprint(n)}, {"%{url_effective}", u}, {"%{url}", u},
		{"%{content_type}", res.Header.Get("Content-Type")}, {"%{num_redirects}", fmt.Sprint(r.redirects)},
		{"%{redirect_url}", res.Header.Get("Location")}, {"%{method}", res.Request.Method},
		{"%{time_total}", fmt.Sprintf("%.6f", time.Since(r.began).Seconds())},
		{`\n`, "\n"}, {`\t`, "\t"}, {`\r`, "\r"}, {"%%", "%"},
	} {
		format = strings.ReplaceAll(format, v[0], v[1])
	}
	r.c.print(format)
}

const wgetOptions = "q,quiet O,output-document= P,directory-prefix= header= post-data= post-file= !S,server-response T,timeout= t,tries= no-check-certificate n v,verbose nv,no-verbose !i,input-file= U,user-agent= method= body-data= spider !c,continue !N,timestamping user= password= max-redirect= !no-clobber show-progress progress= !content-disposition !r,recursive !m,mirror !p,page-requisites"

// wgetSet returns the options of curl that those of wget are.
func wgetSet(o *options) []option {
	set := []option{{"L", ""}, {"f", ""}, {"s", ""}, {"S", ""}, {"A", o.value("U", "Wget/1.21")}}
	for _, s := range o.set {
		switch s.name {
		case "header":
			set = append(set, option{"H", s.value})
		case "post-data", "body-data":
			set = append(set, option{"data-raw", s.value})
		case "post-file":
			set = append(set, option{"data-binary", "@" + s.value})
		case "method":
			set = append(set, option{"X", s.value})
		case "no-check-certificate":
			set = append(set, option{"k", ""})
		case "user":
			set = append(set, option{"u", s.value + ":" + o.value("password", "")})
		case "max-redirect":
			set = append(set, option{"max-redirs", s.value})
		case "T":
			set = append(set, option{"connect-timeout", s.value})
		case "t":
			if n, ok := atoi(s.value); ok {
				set = append(set, option{"retry", strconv.Itoa(n - 1)})
			}
		case "spider":
			set = append(set, option{"I", ""}, option{"o", "/dev/null"})
		}
	}
	return set
}

// wget downloads files by the same means as curl.
func wget(c *call) int {
	o, status := c.options(wgetOptions)
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		c.warnf("wget: missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n")
		return 1
	}
	set := wgetSet(o)
	for _, target := range o.args {
		name := o.value("O", "")
		if name == "" {
			u, err := url.Parse(target)
			if name = "index.html"; err == nil && path.Base(u.Path) != "." && path.Base(u.Path) != "/" {
				name = path.Base(u.Path)
			}
			name = joinPath(o.value("P", ""), name)
			c.fs.MkdirAll(c.canonical(dir(name), false), 0o755)
		}
		r := &curlRun{c: c, o: &options{set: append(slices.Clip(set), option{"o", name})}}
		if err := r.data(); err != nil {
			return c.die(3, "%s", text(err))
		}
		switch s := r.get(target, 0); {
		case s == 0:
			if !o.on("q") && name != "-" {
				c.warnf("'%s' saved\n", name)
			}
		case s == 22:
			status = 8
		case s == 60:
			status = 5
		default:
			status = max(status, 4)
		}
	}
	return status
}
