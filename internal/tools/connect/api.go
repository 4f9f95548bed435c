package connect

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"coderunner/internal/tools/config"
	"coderunner/internal/tools/openapi"
	"coderunner/runners"
)

// api is a server without MCP, whose tools are the operations of a document of OpenAPI.
type api struct {
	base   *url.URL
	tools  []Tool
	client *http.Client
	read   time.Time
}

// apiFor is how long a document is believed.
const apiFor = 10 * time.Minute

// openAPI returns the operations. They are sent to the host that the configuration names, and
// so are the credentials: a document may name another, and is not believed.
func (s *Server) openAPI(ctx context.Context) (*api, error) {
	if s.Err != nil {
		return nil, s.unavailable("%v", s.Err)
	}
	s.mu.Lock()
	known := s.api
	s.mu.Unlock()
	if known != nil && time.Since(known.read) < apiFor {
		return known, nil
	}
	a := &api{client: boundedClient(), read: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	text, err := s.document(ctx, a.client)
	var d *openapi.Document
	if err == nil {
		d, err = openapi.Parse(text)
	}
	if err == nil {
		a.base, err = s.base(d.Server)
	}
	switch {
	case ctx.Err() != nil:
		return nil, s.ended(ctx)
	case err != nil:
		return nil, s.unavailable("%v", err)
	}
	for _, o := range d.Operations {
		w := wireTool{Name: o.Name, Title: o.Summary, Description: strings.TrimSpace(o.Summary + "\n" + o.Description), InputSchema: o.Input, OutputSchema: o.Output}
		w.Annotations.ReadOnlyHint = o.ReadOnly
		if t, ok := s.offered(w); ok {
			t.operation = o
			a.tools = append(a.tools, t)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.api = a
	return a, nil
}

// document reads the document, from a file or a URL.
func (s *Server) document(ctx context.Context, client *http.Client) ([]byte, error) {
	if !config.IsURL(s.OpenAPI) {
		f, err := os.Open(s.OpenAPI)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, openapi.MaxDocument+1))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.OpenAPI, nil)
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(s.URL); s.URL == "" || err == nil && u.Host == r.URL.Host && u.Scheme == r.URL.Scheme {
		s.setHeaders(r)
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its document: %s", response.Status)
	}
	return io.ReadAll(response.Body)
}

func (s *Server) setHeaders(r *http.Request) {
	for name, value := range s.Headers {
		r.Header.Set(name, value)
	}
}

// base returns where the operations are.
func (s *Server) base(server string) (*url.URL, error) {
	if s.URL != "" {
		return url.Parse(s.URL)
	}
	from, err := url.Parse(s.OpenAPI)
	if err != nil {
		return nil, err
	}
	base, err := from.Parse(server)
	if err == nil && (base.Host != from.Host || base.Scheme != from.Scheme) {
		err = fmt.Errorf("its document names the server %s, which its entry does not: if that is right, write it as \"url\"", base)
	}
	return base, err
}

// callAPI is Call for an operation.
func (s *Server) callAPI(ctx context.Context, t Tool, arguments []byte) (*runners.ToolResult, error) {
	a, err := s.openAPI(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.operation.Request(ctx, a.base, arguments, s.Credentials)
	if err != nil {
		return nil, &runners.ToolError{Code: "bad_arguments", Message: err.Error()}
	}
	s.setHeaders(r)
	response, err := a.client.Do(r)
	var content []byte
	if err == nil {
		defer response.Body.Close()
		content, err = io.ReadAll(response.Body)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, s.ended(ctx)
		}
		return nil, lost(s.unavailable("%v", err), t.ReadOnly)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	text := strings.ToValidUTF8(string(content), "\uFFFD")
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, &runners.ToolError{Code: "failed", Message: s.o.Secrets.Redact(runners.Clip(response.Status+": "+text, maxError))}
	}
	w := wireResult{Content: []wireContent{{Type: "text", Text: text}}}
	switch major, _, _ := strings.Cut(kind, "/"); {
	case len(content) == 0:
		w.Content = nil
	case major == "image" || major == "audio":
		w.Content = []wireContent{{Type: major, MIME: kind, Data: base64.StdEncoding.EncodeToString(content)}}
	case major != "text" && text != string(content):
		w.Content = []wireContent{{Type: "resource", Resource: wireResource{URI: r.URL.Redacted(), MIME: kind, Blob: base64.StdEncoding.EncodeToString(content)}}}
	}
	return s.result(w)
}

// lost returns the error of a call that may have been carried out, of one of a server that is
// not available.
func lost(err error, harmless bool) error {
	if e, ok := errors.AsType[*runners.ToolError](err); ok && e.Code == "unavailable" && !harmless {
		return &runners.ToolError{Code: "unknown", Message: e.Message + "; whether the call was carried out is not known"}
	}
	return err
}
