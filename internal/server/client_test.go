package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"coderunner/internal/answer"
	"coderunner/runners"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runFunc is a runner that is only its Run.
type runFunc func(ctx context.Context, req runners.Request) (*runners.Outcome, error)

func (f runFunc) Run(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	return f(ctx, req)
}
func (runFunc) Lock(context.Context, runners.Request) (*runners.Locked, error) {
	return nil, errors.New("not called")
}
func (runFunc) Warm(context.Context, []string, runners.ProgressFunc) error { return nil }
func (runFunc) Versions() map[string]string                                { return nil }
func (runFunc) Close() error                                               { return nil }

// echo answers with the code as stdout.
func echo(_ context.Context, req runners.Request) (*runners.Outcome, error) {
	return &runners.Outcome{Status: runners.Succeeded, Stdout: req.Code}, nil
}

// untilCancelled runs until the call is cancelled, and tells of both.
func untilCancelled(started, ended chan<- string) runFunc {
	return func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		started <- req.Code
		<-ctx.Done()
		ended <- req.Code
		return &runners.Outcome{Status: runners.Cancelled}, nil
	}
}

func allLanguages(r runners.Runner) map[runners.Language]runners.Runner {
	return map[runners.Language]runners.Runner{
		runners.Python: r, runners.TypeScript: r, runners.JavaScript: r,
	}
}

func newServer(t testing.TB, c Config) *Server {
	t.Helper()
	if c.Name == "" {
		c.Name, c.Version = "coderunner", "test"
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// client is one that speaks JSON-RPC and nothing more.
type client struct {
	t      testing.TB
	in     *io.PipeWriter
	out    *bufio.Reader
	outEnd *io.PipeReader
	served chan error
}

func connect(t testing.TB, s *Server) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR), outEnd: outR, served: make(chan error, 1)}
	go func() {
		err := s.ServeStdio(context.Background(), inR, outW)
		outW.Close()
		c.served <- err
	}()
	return c
}

// hello makes the handshake.
func (c *client) hello() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	if m := c.receive(); m.Error != nil {
		c.t.Fatalf("initialize: %+v", m.Error)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// reply is any message from the server.
type reply struct {
	ID     json.RawMessage
	Method string
	Result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent *answer.Structured
		Meta              struct {
			Usage    runners.Usage     `json:"coderunner/usage"`
			Packages []runners.Package `json:"coderunner/packages"`
		} `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
	}
	Params struct {
		ProgressToken json.RawMessage
		Progress      float64
		Message       string
	}
	line string
}

func (r reply) text() string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].Text
}

func (c *client) receive() reply {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("receive: %v (after %q)", err, line)
	}
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		c.t.Fatalf("receive %q: %v", line, err)
	}
	r.line = line
	return r
}

// end closes the client's side and waits for the server.
func (c *client) end() {
	c.t.Helper()
	c.in.Close()
	go io.Copy(io.Discard, c.out)
	if err := <-c.served; err != nil {
		c.t.Errorf("ServeStdio = %v, want nil", err)
	}
	c.outEnd.Close()
}

func callLine(id, code string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":%q}}}`, id, code)
}

func cancelLine(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}
