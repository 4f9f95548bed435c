package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
)

// connectHTTP initializes a connection over Streamable HTTP.
func (s *Server) connectHTTP(ctx context.Context) (*conn, error) {
	options := []transport.StreamableHTTPCOption{
		transport.WithHTTPBasicClient(boundedClient()), transport.WithHTTPHeaders(s.Headers), transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
	}
	if t := s.tokenFile(); t.exists() {
		config, err := t.config()
		if err != nil {
			return nil, err
		}
		options = append(options, transport.WithHTTPOAuth(config))
	}
	t, err := transport.NewStreamableHTTP(s.URL, options...)
	if err != nil {
		return nil, err
	}
	c, err := s.open(ctx, httpTransport{t})
	if err != nil {
		_ = t.Close()
		return nil, s.explain(err)
	}
	c.stop = func() { _ = c.client.Close() }
	return c, nil
}

// explain adds to an error of HTTP what there is to do.
func (s *Server) explain(err error) error {
	if client.IsAuthorizationRequiredError(err) || client.IsOAuthAuthorizationRequiredError(err) {
		return fmt.Errorf("it wants a login: coderunner tools login %s", s.Name)
	}
	if errors.Is(err, transport.ErrLegacySSEServer) {
		return errors.New("there is no Streamable HTTP at its URL")
	}
	return err
}

// boundedClient returns a client of HTTP that reads answers up to a bound, and follows no
// redirect to another host, which would get the headers.
func boundedClient() *http.Client {
	return &http.Client{
		Transport: bounded{http.DefaultTransport.(*http.Transport).Clone()},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme || len(via) > 5 {
				return fmt.Errorf("it redirects to %s, which is not followed", r.URL.Host)
			}
			return nil
		},
	}
}

type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	read int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > maxMessage {
		return 0, fmt.Errorf("it has sent an answer of more than %d MiB", maxMessage>>20)
	}
	return n, err
}
