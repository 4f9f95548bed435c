package intercept

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"coderunner/internal/order"
)

// Bounds of a recording.
const (
	maxEntries   = 10_000
	maxFile      = 1 << 30
	maxRecording = 256 << 20 // bytes of bodies
)

// recording is a HAR file.
type recording struct {
	mu      sync.Mutex // guards what follows, and the entries
	file    harFile
	bytes   int
	refused int // exchanges that did not fit
}

type harFile struct {
	Log harLog `json:"log"`
}

type harLog struct {
	Version string   `json:"version"`
	Creator creator  `json:"creator"`
	Entries []*entry `json:"entries"`
	Comment string   `json:"comment,omitempty"`

	Placeholders map[string]string `json:"_placeholders,omitempty"` // of secrets, by their names
	Tools        json.RawMessage   `json:"_tools,omitempty"`        // what tools were asked and have answered
}

type creator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// entry is one exchange, as the program had it: with placeholders.
type entry struct {
	Started  time.Time   `json:"startedDateTime"`
	Time     float64     `json:"time"` // milliseconds
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Comment  string      `json:"comment,omitempty"`

	sum     [32]byte // of the request's body
	body    bytes.Buffer
	partial bool // not all of the answer was recorded
	used    bool // by a replay
}

type harPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type harRequest struct {
	Method      string    `json:"method"`
	URL         string    `json:"url"`
	HTTPVersion string    `json:"httpVersion"`
	Cookies     []harPair `json:"cookies"`
	Headers     []harPair `json:"headers"`
	Query       []harPair `json:"queryString"`
	PostData    *harBody  `json:"postData,omitempty"`
	HeadersSize int       `json:"headersSize"`
	BodySize    int       `json:"bodySize"`
}

type harResponse struct {
	Status      int       `json:"status"` // 0: there was no answer
	StatusText  string    `json:"statusText"`
	HTTPVersion string    `json:"httpVersion"`
	Cookies     []harPair `json:"cookies"`
	Headers     []harPair `json:"headers"`
	Content     harBody   `json:"content"`
	RedirectURL string    `json:"redirectURL"`
	HeadersSize int       `json:"headersSize"`
	BodySize    int       `json:"bodySize"`
}

type harBody struct {
	Size     int    `json:"size"`
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	Encoding string `json:"encoding,omitempty"` // base64
}

type harTimings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// newBody returns a body as a file has it.
func newBody(b []byte, mime string) harBody {
	if utf8.Valid(b) {
		return harBody{Size: len(b), MimeType: mime, Text: string(b)}
	}
	return harBody{Size: len(b), MimeType: mime, Text: base64.StdEncoding.EncodeToString(b), Encoding: "base64"}
}

func (b harBody) bytes() ([]byte, error) {
	if b.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(b.Text)
	}
	return []byte(b.Text), nil
}

// pairsOf returns headers in the order of their names.
func pairsOf(h http.Header) []harPair {
	list := []harPair{}
	for name, values := range h {
		for _, v := range values {
			list = append(list, harPair{name, v})
		}
	}
	order.Stably(list, func(a, b harPair) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// newEntry returns the entry of a request. Whole is false if the body is only its
// beginning.
func newEntry(req *http.Request, at string, body []byte, whole bool) *entry {
	e := &entry{Started: time.Now(), sum: sha256.Sum256(body), partial: !whole}
	e.Request = harRequest{
		Method: req.Method, URL: at, HTTPVersion: req.Proto, Cookies: []harPair{}, Headers: pairsOf(req.Header), Query: []harPair{},
		HeadersSize: -1, BodySize: len(body),
	}
	for _, c := range req.Cookies() {
		e.Request.Cookies = append(e.Request.Cookies, harPair{c.Name, c.Value})
	}
	if u, err := url.Parse(at); err == nil {
		e.Request.Query = pairsOf(http.Header(u.Query()))
	}
	if len(body) > 0 {
		b := newBody(body, req.Header.Get("Content-Type"))
		e.Request.PostData = &b
	}
	e.Response = harResponse{HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: []harPair{}, HeadersSize: -1, BodySize: -1}
	return e
}

// answered records the header of the answer.
func (e *entry) answered(resp *http.Response) {
	e.Timings.Wait = float64(time.Since(e.Started).Microseconds()) / 1000
	r := &e.Response
	r.Status, r.StatusText = resp.StatusCode, strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)+" ")
	r.HTTPVersion, r.Headers, r.RedirectURL = resp.Proto, pairsOf(resp.Header), resp.Header.Get("Location")
	if slices.Contains(resp.TransferEncoding, "chunked") {
		r.Headers = append(r.Headers, harPair{"Transfer-Encoding", "chunked"})
	}
	for _, c := range resp.Cookies() {
		r.Cookies = append(r.Cookies, harPair{c.Name, c.Value})
	}
	r.Content.MimeType = resp.Header.Get("Content-Type")
}

// Write records what comes of the answer's body. It never fails.
func (e *entry) Write(p []byte) (int, error) {
	if e.body.Len()+len(p) > maxRecorded {
		e.partial = true
	} else {
		e.body.Write(p)
	}
	return len(p), nil
}

// begin adds an entry to the recording, in the order of the requests.
func (r *recording) begin(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.file.Log.Entries) < maxEntries {
		r.file.Log.Entries = append(r.file.Log.Entries, e)
	} else {
		r.refused++
	}
}

// end ends an entry.
func (r *recording) end(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = float64(time.Since(e.Started).Microseconds()) / 1000
	e.Timings.Receive = max(e.Time-e.Timings.Wait, 0)
	if r.bytes += e.body.Len(); r.bytes > maxRecording {
		e.partial = true
		e.body.Reset()
	}
	e.Response.Content = newBody(e.body.Bytes(), e.Response.Content.MimeType)
	e.Response.BodySize = e.body.Len()
	e.body = bytes.Buffer{}
	if e.partial {
		e.Comment = "incomplete: it cannot be replayed"
	}
}

// find returns the first exchange that was not used yet for a request like e's; nil
// if there is none.
func (r *recording) find(e *entry) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	multipart := slices.ContainsFunc(e.Request.Headers, func(h harPair) bool {
		return h.Name == "Content-Type" && strings.HasPrefix(h.Value, "multipart/") // whose boundary is another one each time
	})
	for _, old := range r.file.Log.Entries {
		if !old.used && !old.partial && old.Request.Method == e.Request.Method && old.Request.URL == e.Request.URL && (multipart || old.sum == e.sum) {
			old.used = true
			return old
		}
	}
	return nil
}

// errNoAnswer is what a request gets that had no answer.
var errNoAnswer = errors.New("there was no answer")

// response returns the recorded answer.
func (e *entry) response(req *http.Request) (*http.Response, error) {
	if e.Response.Status == 0 {
		return nil, errNoAnswer
	}
	body, err := e.Response.Content.bytes()
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: e.Response.Status, Status: strings.TrimSpace(fmt.Sprint(e.Response.Status, " ", e.Response.StatusText)),
		ProtoMajor: 1, ProtoMinor: 1, Request: req, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	if e.Response.HTTPVersion == "HTTP/1.0" {
		resp.ProtoMinor = 0
	}
	for _, h := range e.Response.Headers {
		switch h.Name {
		case "Transfer-Encoding":
			resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
		case "Connection":
			resp.Close = resp.Close || strings.EqualFold(h.Value, "close")
			fallthrough
		default:
			resp.Header.Add(h.Name, h.Value)
		}
	}
	if req.Method == http.MethodHead {
		resp.ContentLength = -1
		if n, err := strconv.ParseInt(resp.Header.Get("Content-Length"), 10, 64); err == nil {
			resp.ContentLength = n
		}
	}
	return resp, nil
}

// Record has the exchanges of programs recorded, for Save.
func (i *Interceptor) Record(version string) {
	i.record = &recording{file: harFile{harLog{Version: "1.2", Creator: creator{"coderunner", version}, Entries: []*entry{}, Placeholders: i.Environment()}}}
}

// Tools returns what a recording that is replayed has of tools, nil for nothing.
func (i *Interceptor) Tools() json.RawMessage {
	if i == nil || i.replay == nil {
		return nil
	}
	return i.replay.file.Log.Tools
}

// Save ends all connections and writes the recording to a file, with what tools were asked and
// have answered.
func (i *Interceptor) Save(name string, tools json.RawMessage) error {
	i.end()
	i.work.Wait()
	i.record.mu.Lock()
	defer i.record.mu.Unlock()
	if n := i.record.refused; n > 0 {
		i.record.file.Log.Comment = fmt.Sprintf("%d more exchanges are left out", n)
	}
	i.record.file.Log.Tools = tools
	b, err := json.MarshalIndent(i.record.file, "", " ")
	if err == nil {
		err = os.WriteFile(name, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the recording %s: %w", name, err)
	}
	return nil
}

// Replay has programs answered from a recording.
func (i *Interceptor) Replay(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
	case !info.Mode().IsRegular(): // it may have no end
		err = errors.New("it is not a regular file")
	case info.Size() > maxFile:
		err = errors.New("it is too long")
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(name)
	}
	if err == nil {
		i.replay, err = parseRecording(b)
	}
	if err != nil {
		return fmt.Errorf("read the recording %s: %w", name, err)
	}
	i.secrets = i.secrets.begin(i.replay.file.Log.Placeholders)
	return nil
}

// parseRecording parses a HAR file.
func parseRecording(b []byte) (*recording, error) {
	r := &recording{}
	if err := json.Unmarshal(b, &r.file); err != nil {
		return nil, err
	}
	if r.file.Log.Version == "" {
		return nil, errors.New("it is not a HAR file")
	}
	for _, e := range r.file.Log.Entries {
		if e == nil {
			return nil, errors.New("an entry is null")
		}
		if s := e.Response.Status; s != 0 && (s < 100 || s > 999) {
			return nil, fmt.Errorf("the status of %s is %d", e.Request.URL, s)
		}
		if _, err := e.Response.Content.bytes(); err != nil {
			return nil, fmt.Errorf("the answer of %s: %w", e.Request.URL, err)
		}
		e.partial = strings.HasPrefix(e.Comment, "incomplete")
		var body []byte
		if e.Request.PostData != nil {
			var err error
			if body, err = e.Request.PostData.bytes(); err != nil {
				return nil, fmt.Errorf("the body of %s: %w", e.Request.URL, err)
			}
		}
		e.sum = sha256.Sum256(body)
	}
	return r, nil
}
