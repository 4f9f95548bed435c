package connect

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/zap"

	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// guarded is a server of tools that wants a token, and its authorization server.
type guarded struct {
	url       string
	challenge atomic.Value // of PKCE
	issued    atomic.Int64 // tokens; the newest is taken
	redirects atomic.Bool  // to another host
}

func (g *guarded) token(n int64) string { return "access-token-" + strings.Repeat("x", int(n)) }

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{}
	m := mcpserver.NewMCPServer("guarded", "1")
	m.AddTool(mcp.NewTool("whoami", mcp.WithReadOnlyHintAnnotation(true)), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("you sent " + r.Header.Get("Authorization")), nil
	})
	tools := mcpserver.NewStreamableHTTPServer(m)
	mux := http.NewServeMux()
	reply := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	g.url = web.URL
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.redirects.Load():
			http.Redirect(w, r, "http://localhost.invalid/mcp", http.StatusTemporaryRedirect)
		case g.issued.Load() == 0 || r.Header.Get("Authorization") != "Bearer "+g.token(g.issued.Load()):
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.url+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			tools.ServeHTTP(w, r)
		}
	})
	mux.Handle("/.well-known/oauth-protected-resource", reply(map[string]any{"resource": g.url + "/mcp", "authorization_servers": []string{g.url}}))
	mux.Handle("/.well-known/oauth-protected-resource/mcp", reply(map[string]any{"resource": g.url + "/mcp", "authorization_servers": []string{g.url}}))
	mux.Handle("/.well-known/oauth-authorization-server", reply(map[string]any{
		"issuer": g.url, "authorization_endpoint": g.url + "/authorize", "token_endpoint": g.url + "/token", "registration_endpoint": g.url + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
	}))
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		reply(map[string]any{"client_id": "client-id", "token_endpoint_auth_method": "none"})(w, r)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.challenge.Store(q.Get("code_challenge"))
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code&state="+q.Get("state"), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		first := r.FormValue("grant_type") == "authorization_code" && r.FormValue("code") == "code" && base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge.Load()
		if again := r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == "refresh-token"; !first && !again || r.FormValue("client_id") != "client-id" {
			http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
			return
		}
		reply(map[string]any{"access_token": g.token(g.issued.Add(1)), "token_type": "Bearer", "refresh_token": "refresh-token", "expires_in": 3600})(w, r)
	})
	return g
}

// TestLogin: a token is got in a browser, kept for its owner alone, sent, refreshed, and seen
// by nobody else.
func TestLogin(t *testing.T) {
	g := newGuarded(t)
	dir := filepath.Join(t.TempDir(), "tokens")
	open := func() *Server {
		s := New(config.Server{Name: "guarded", URL: g.url + "/mcp"}, Options{Version: "test", Log: zap.NewNop(), Secrets: &Secrets{}, Tokens: dir, Idle: time.Hour})
		t.Cleanup(s.Close)
		return s
	}
	var refused *runners.ToolError
	if _, err := open().Tools(t.Context()); !errors.As(err, &refused) || refused.Code != "unavailable" || !strings.Contains(refused.Message, "coderunner tools login guarded") {
		t.Fatal(err)
	}
	var failed error
	browse := func(page string) {
		r, err := http.Get(page)
		if failed = err; err == nil {
			r.Body.Close()
		}
	}
	if err := open().Login(t.Context(), browse); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	whoami := func() string {
		t.Helper()
		r, err := open().Call(t.Context(), Tool{Name: "whoami", ReadOnly: true}, json.RawMessage("{}"), Events{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].Text
	}
	if text := whoami(); text != "you sent Bearer [secret access token]" {
		t.Error(text)
	}
	// The token expires, and a new one is got without the user.
	store := open().tokenFile()
	v, err := store.read()
	if err != nil {
		t.Fatal(err)
	}
	v.Token.ExpiresAt = time.Now().Add(-time.Hour)
	if err := store.write(v); err != nil {
		t.Fatal(err)
	}
	if text := whoami(); text != "you sent Bearer [secret access token]" || g.issued.Load() != 2 {
		t.Errorf("%s, %d tokens", text, g.issued.Load())
	}
	// A login that is broken off leaves no file.
	ctx, cancel := context.WithCancel(t.Context())
	other := New(config.Server{Name: "other", URL: g.url + "/mcp?x=1"}, open().o)
	if err := other.Login(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) || other.tokenFile().exists() {
		t.Errorf("broken off: %v", err)
	}
	g.redirects.Store(true)
	if _, err := open().Call(t.Context(), Tool{Name: "whoami", ReadOnly: true}, json.RawMessage("{}"), Events{}); err == nil || !strings.Contains(err.Error(), "redirects to localhost.invalid, which is not followed") {
		t.Errorf("a redirect: %v", err)
	}
}

// TestHTTP: a server over HTTP that sends too much, or is none.
func TestHTTP(t *testing.T) {
	for answer, want := range map[string]string{"": "unavailable: ", "huge": "more than 16 MiB", "not MCP": "unavailable: "} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if answer == "huge" {
				chunk := []byte(strings.Repeat(" ", 1<<20))
				for range 20 {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}
			_, _ = w.Write([]byte(answer))
		}))
		s := New(config.Server{Name: "bad", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer hush-hush-hush"}}, Options{Version: "test", Log: zap.NewNop(), Secrets: &Secrets{}, Tokens: t.TempDir(), Idle: time.Hour})
		if _, err := s.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v, want %s", answer, err, want)
		}
		s.Close()
		web.Close()
	}
}
