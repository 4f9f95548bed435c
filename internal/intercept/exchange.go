package intercept

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bounds of messages.
const (
	maxHeader   = 1 << 20
	maxSearched = 1 << 20  // of a body, for placeholders
	maxRecorded = 16 << 20 // of a body
)

// metered bounds what is read of a header.
type metered struct {
	r    io.Reader
	left int64
}

func (m *metered) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errors.New("the header is too long")
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

// exchange serves one request. It reports whether another may follow.
func (s *session) exchange() bool {
	req, err := s.readRequest()
	if err != nil {
		return false
	}
	host, _, err := net.SplitHostPort(req.Host)
	if err != nil {
		host = strings.Trim(req.Host, "[]")
	}
	if s.secrets.has(s.host, s.port) && !strings.EqualFold(strings.TrimSuffix(host, "."), s.host) {
		// Whoever shares the host's address must not get its secrets.
		_ = s.answer(req, http.StatusMisdirectedRequest, fmt.Sprintf("the request is for %s, and the connection for %s\n", host, s.host))
		return false
	}
	body, rest, err := s.readBody(req)
	if err != nil {
		return false
	}
	e := newEntry(req, s.url(req), body, rest == nil)
	if s.replay != nil {
		return s.replayed(req, e)
	}
	if s.record != nil {
		s.record.begin(e)
		defer s.record.end(e)
	}
	if s.secure {
		if rest == nil && len(body) <= maxSearched {
			body = s.secrets.fill(req, body, s.host, s.port)
		} else {
			s.secrets.fill(req, nil, s.host, s.port) // the header
		}
	}
	switch {
	case rest != nil:
		req.Body = io.NopCloser(rest)
	case len(body) > 0:
		req.ContentLength, req.Body, req.TransferEncoding = int64(len(body)), io.NopCloser(bytes.NewReader(body)), nil
	default:
		req.ContentLength, req.Body, req.TransferEncoding = 0, http.NoBody, nil
	}
	resp, err := s.send(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return s.respond(req, resp, e)
}

// readRequest reads the header of the next request.
func (s *session) readRequest() (*http.Request, error) {
	_ = s.out.SetReadDeadline(time.Now().Add(idleClient))
	s.inMeter.left = maxHeader
	req, err := http.ReadRequest(s.in)
	s.inMeter.left = math.MaxInt64
	_ = s.out.SetReadDeadline(time.Time{})
	return req, err
}

// readBody reads the body of a request. The rest is all of it, if it is longer than
// what is looked at.
func (s *session) readBody(req *http.Request) (body []byte, rest io.Reader, err error) {
	if req.Header.Get("Expect") != "" {
		req.Header.Del("Expect")
		if _, err := io.WriteString(s.out, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, nil, err
		}
	}
	most := maxSearched
	if s.StandIns() {
		most = maxRecorded
	}
	body, err = io.ReadAll(io.LimitReader(req.Body, int64(most)+1))
	if len(body) > most {
		return body[:most], io.MultiReader(bytes.NewReader(body), req.Body), err
	}
	return body, nil, err
}

// send sends a request to the host, and reads the header of the answer.
func (s *session) send(req *http.Request) (*http.Response, error) {
	if err := s.connect(); err != nil {
		return nil, err
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = []string{""} // none, instead of Go's
	}
	if s.record != nil || s.secrets.has(s.host, s.port) {
		req.Header.Set("Accept-Encoding", "identity") // to be read here
		req.Header.Del("Sec-WebSocket-Extensions")    // which compress
	}
	if err := req.Write(s.up); err != nil {
		return nil, err
	}
	for {
		s.upMeter.left = maxHeader
		resp, err := http.ReadResponse(s.upIn, req)
		s.upMeter.left = math.MaxInt64
		if err != nil || resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
	}
}

// respond passes an answer on. It reports whether another request may follow.
func (s *session) respond(req *http.Request, resp *http.Response, e *entry) bool {
	if s.secrets.has(s.host, s.port) {
		s.redactHeader(resp.Header)
		resp.Status = s.secrets.Redact(resp.Status)
		if req.Method != http.MethodHead && resp.StatusCode != http.StatusSwitchingProtocols {
			s.redactBody(resp)
		}
	}
	e.answered(resp)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		e.partial = true
		return s.upgraded(resp)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, e), resp.Body}
	defer resp.Body.Close()
	if err := resp.Write(s.out); err != nil {
		e.partial = true
		return false
	}
	return !resp.Close && !req.Close && req.ProtoAtLeast(1, 1)
}

// redactBody has the secrets in a body and its trailer replaced. What is short and has a
// length gets one again.
func (s *session) redactBody(resp *http.Response) {
	r := s.secrets.reader(resp.Body, func() { s.redactHeader(resp.Trailer) })
	if resp.ContentLength >= 0 && resp.ContentLength <= maxSearched {
		text, err := io.ReadAll(r)
		if err == nil {
			resp.ContentLength = int64(len(text))
			resp.Header.Del("Content-Length") // Write sets it
		}
		r = io.NopCloser(bytes.NewReader(text))
	} else {
		resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
		resp.Header.Del("Content-Length")
	}
	resp.Body = r
}

func (s *session) redactHeader(h http.Header) {
	for _, values := range h {
		for i, v := range values {
			values[i] = s.secrets.Redact(v)
		}
	}
}

// upgraded passes on what follows when the protocol was changed: of a WebSocket whole
// messages, of others bytes.
func (s *session) upgraded(resp *http.Response) bool {
	if resp.Write(s.out) != nil {
		return false
	}
	go func() {
		_, _ = io.Copy(s.up, s.in)
		s.up.Close()
	}()
	switch {
	case !s.secrets.has(s.host, s.port):
		_, _ = io.Copy(s.out, s.upIn)
	case strings.EqualFold(resp.Header.Get("Upgrade"), "websocket"):
		_ = s.secrets.redactMessages(s.out, s.upIn) // the connection ends by any error
	default:
		w, end := s.secrets.writer(s.out, quietHost)
		_, _ = io.Copy(w, s.upIn)
		end()
	}
	return false
}

// answer answers a request by ourselves.
func (s *session) answer(req *http.Request, code int, text string) error {
	resp := &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: int64(len(text)), Close: true,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
	return resp.Write(s.out)
}

// replayed answers a request from the recording.
func (s *session) replayed(req *http.Request, e *entry) bool {
	from := s.replay.find(e)
	if from == nil {
		what := "the recording has no exchange for " + e.Request.Method + " " + e.Request.URL
		s.refuse(what)
		_ = s.answer(req, http.StatusBadGateway, what+"\n")
		return false
	}
	resp, err := from.response(req)
	if err != nil {
		return false // as it was
	}
	return resp.Write(s.out) == nil && !resp.Close && !req.Close && req.ProtoAtLeast(1, 1)
}
