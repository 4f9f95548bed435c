package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/sandbox"
	"coderunner/internal/testcache"
)

// user answers questions by the host that they name, and writes them down.
type user struct {
	mu    sync.Mutex
	asked []string
	slow  time.Duration // for questions about slow.example: more than programs have
}

func (u *user) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	if strings.Contains(r.Params.Message, "slow") {
		time.Sleep(u.slow) // as people do
	} else {
		u.mu.Lock()
		u.asked = append(u.asked, r.Params.Message)
		u.mu.Unlock()
	}
	answer := mcp.ElicitationResponseActionCancel
	for word, action := range map[string]mcp.ElicitationResponseAction{
		"shop": mcp.ElicitationResponseActionAccept, "slow": mcp.ElicitationResponseActionAccept, "spy": mcp.ElicitationResponseActionDecline,
	} {
		if strings.Contains(r.Params.Message, word) {
			answer = action
		}
	}
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: answer}}, nil
}

// questions returns what was asked since the last time.
func (u *user) questions() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := strings.Join(u.asked, "\n")
	u.asked = nil
	return all
}

// startProxy starts an HTTP proxy behind which every host is one server.
func startProxy(t *testing.T) string {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "I am", r.Host) }))
	t.Cleanup(origin.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := net.Dial("tcp", origin.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		w.WriteHeader(http.StatusOK)
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// getters get the URLs of their arguments and print the answers or the errors.
var getters = map[string]string{
	"python": `
import sys, urllib.request
for url in %s:
    try:
        print(urllib.request.urlopen(url, timeout=4).read().decode())
    except OSError as e:
        print("no:", url, e)
`,
	"typescript": `
for (const url of %s) {
  try {
    console.log(await (await fetch(url)).text());
  } catch (e) {
    console.log("no:", url, String(e));
  }
}
`,
	"bash": `for url in $(echo '%s' | tr -d '[],"'); do curl -sS "$url" || echo "no: $url"; done 2>&1`,
}

// TestAsk has a user allow one host of several to programs without
// permissions, by a client that is not ours, in the two ways of asking that there are.
func TestAsk(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	const token = "asking-0123456789"
	env := []string{"CODE_RUNNER_CACHE_DIR=" + testcache.Dir(), "CODE_RUNNER_TIMEOUT=20s", "HTTP_PROXY=" + startProxy(t), "NO_PROXY=", "CODE_RUNNER_HTTP_TOKEN=" + token}
	stdio := func() (transport.Interface, error) {
		return transport.NewStdio(selfAs(t, "coderunner"), append(os.Environ(), env...), "serve"), nil
	}
	web := func() (transport.Interface, error) {
		return transport.NewStreamableHTTP(startHTTP(t, env).url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	for _, tt := range []struct {
		name, version string
		connect       func() (transport.Interface, error)
	}{
		{"stdio", "2025-11-25", stdio}, {"stdio", "2026-07-28", stdio},
		{"HTTP", "2025-11-25", web}, {"HTTP", "2026-07-28", web},
	} {
		t.Run(tt.name+" "+tt.version, func(t *testing.T) {
			t.Parallel() // each waits for its user
			way, err := tt.connect()
			if err != nil {
				t.Fatal(err)
			}
			u := &user{slow: 4500 * time.Millisecond}
			c := client.NewClient(way, client.WithElicitationHandler(u), client.WithProtocolVersion(tt.version))
			hello := mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: tt.version, ClientInfo: mcp.Implementation{Name: "asks", Version: "1"}}}
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if hello, err := c.Initialize(t.Context(), hello); err != nil || hello.ProtocolVersion != tt.version {
				t.Fatal(hello, err)
			}
			var slow sync.WaitGroup
			defer slow.Wait()
			for language, program := range getters {
				if language == "typescript" && sandbox.Supervised() != nil {
					continue
				}
				askAbout(t, c, u, language, program)
				slow.Go(func() { // the clock stands still until the user has answered
					if out := runFor(t, c, language, fmt.Sprintf(program, `["http://slow.example/"]`), 4); !strings.Contains(out, "I am slow") {
						t.Errorf("%s: %s", language, out)
					}
				})
			}
		})
	}
}

// runFor runs a program with a time limit, and returns the text of its result.
func runFor(t *testing.T, c *client.Client, language, code string, seconds float64) string {
	var call mcp.CallToolRequest
	call.Params.Name = "run_code"
	call.Params.Arguments = map[string]any{"language": language, "code": code, "timeout_seconds": seconds}
	result, err := c.CallTool(t.Context(), call)
	if err != nil {
		t.Errorf("%s: %v", language, err)
		return ""
	}
	return result.Content[0].(mcp.TextContent).Text
}

func askAbout(t *testing.T, c *client.Client, u *user, language, program string) {
	get := func(urls string) (string, string) {
		out := runFor(t, c, language, fmt.Sprintf(program, urls), 60)
		return out, u.questions()
	}
	question := func(host string) string {
		return fmt.Sprintf("A program wants to connect to %q at port 80. Allow it for this run?", host)
	}
	out, asked := get(`["http://shop.example/", "http://SHOP.example./again", "http://spy.example/", "http://spy.example/", "http://169.254.169.254/", "http://localhost:1/", "http://10.0.0.1/"]`)
	if want := question("shop.example") + "\n" + question("spy.example"); asked != want {
		t.Errorf("%s: the user was asked\n%s\nwant\n%s", language, asked, want)
	}
	if strings.Count(out, "I am ") != 2 || strings.Count(out, "no: ") != 5 {
		t.Errorf("%s: %s", language, out)
	}
	// The answers hold for one run, and who does not answer is asked no more.
	if out, asked = get(`["http://shop.example/", "http://other.example/", "http://shop.example.org/"]`); asked != question("shop.example")+"\n"+question("other.example") || strings.Count(out, "no: ") != 2 {
		t.Errorf("%s: asked %s, printed %s", language, asked, out)
	}
}
