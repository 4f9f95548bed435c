package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
)

// tokenFile is where the token of a server is kept, which only its owner may read. It
// implements [transport.TokenStore].
type tokenFile struct {
	path    string
	secrets *Secrets
}

// saved is what the file has.
type saved struct {
	URL          string           `json:"url"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AuthMethod   string           `json:"token_endpoint_auth_method,omitempty"`
	Token        *transport.Token `json:"token,omitempty"`
}

func (s *Server) tokenFile() tokenFile {
	sum := sha256.Sum256([]byte(s.URL))
	return tokenFile{filepath.Join(s.o.Tokens, hex.EncodeToString(sum[:12])+".json"), s.o.Secrets}
}

func (t tokenFile) exists() bool {
	_, err := os.Stat(t.path)
	return err == nil
}

func (t tokenFile) read() (v saved, err error) {
	text, err := os.ReadFile(t.path)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if v.Token != nil {
		t.secrets.Add("access token", v.Token.AccessToken)
		t.secrets.Add("refresh token", v.Token.RefreshToken)
	}
	t.secrets.Add("client secret", v.ClientSecret)
	return v, err
}

func (t tokenFile) write(v saved) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(t.path), 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(t.path, text, 0o600)
	}
	return err
}

// config returns what is needed to use the token and to refresh it.
func (t tokenFile) config() (client.OAuthConfig, error) {
	v, err := t.read()
	return client.OAuthConfig{
		ClientID: v.ClientID, ClientSecret: v.ClientSecret, TokenEndpointAuthMethod: v.AuthMethod, TokenStore: t, PKCEEnabled: true, HTTPClient: oauthClient(),
	}, err
}

func oauthClient() *http.Client {
	c := boundedClient()
	c.Timeout = 30 * time.Second
	return c
}

// GetToken is for [transport.TokenStore].
func (t tokenFile) GetToken(context.Context) (*transport.Token, error) {
	v, err := t.read()
	if errors.Is(err, fs.ErrNotExist) || err == nil && v.Token == nil {
		return nil, transport.ErrNoToken
	}
	return v.Token, err
}

// SaveToken is for [transport.TokenStore].
func (t tokenFile) SaveToken(_ context.Context, token *transport.Token) error {
	v, err := t.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	v.Token = token
	if err := t.write(v); err != nil {
		return err
	}
	_, err = t.read() // which makes it a secret
	return err
}

// Login gets a token from the authorization server of a server over HTTP: open shows the
// user the page on which to agree, which then leads back to this machine.
func (s *Server) Login(ctx context.Context, open func(page string)) (err error) {
	if s.Err != nil {
		return s.Err
	}
	if s.URL == "" || s.OpenAPI != "" {
		return fmt.Errorf("%s is not a server of MCP over HTTP: there is no login, its credentials are in its configuration", s.Name)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	store := s.tokenFile()
	if err := store.write(saved{URL: s.URL}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(store.path)
		}
	}()
	config := client.OAuthConfig{
		RedirectURI: fmt.Sprintf("http://%s/callback", listener.Addr()), TokenStore: store, PKCEEnabled: true, HTTPClient: oauthClient(),
	}
	t, err := transport.NewStreamableHTTP(s.URL, transport.WithHTTPBasicClient(boundedClient()), transport.WithHTTPHeaders(s.Headers),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), transport.WithHTTPOAuth(config))
	if err != nil {
		return err
	}
	defer t.Close()
	probe, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if _, err = s.open(probe, httpTransport{t}); err == nil {
		return fmt.Errorf("%s wants no login", s.Name)
	}
	handler := client.GetOAuthHandler(err)
	if handler == nil {
		return s.explain(err)
	}
	if err := s.authorize(ctx, handler, listener, open); err != nil {
		return err
	}
	v, err := store.read()
	if err != nil {
		return err
	}
	v.ClientID, v.ClientSecret, v.AuthMethod = handler.GetClientID(), handler.GetClientSecret(), handler.GetTokenEndpointAuthMethod()
	return store.write(v)
}

// authorize registers us as a client, sends the user to the page, and takes the code that
// the page brings back.
func (s *Server) authorize(ctx context.Context, h *transport.OAuthHandler, listener net.Listener, open func(string)) error {
	if err := h.RegisterClient(ctx, "coderunner"); err != nil {
		return err
	}
	verifier, err := client.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	state, err := client.GenerateState()
	if err != nil {
		return err
	}
	page, err := h.GetAuthorizationURL(ctx, state, client.GenerateCodeChallenge(verifier))
	if err != nil {
		return err
	}
	answers := make(chan url.Values, 1)
	back := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || q.Get("state") != state {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "coderunner has the answer; this page can be closed.")
		select {
		case answers <- q:
		default:
		}
	})}
	go func() { _ = back.Serve(listener) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = back.Shutdown(ctx)
	}()
	open(page)
	select {
	case q := <-answers:
		if refused := q.Get("error"); refused != "" {
			return fmt.Errorf("%s refuses the login: %s", s.Name, refused)
		}
		return h.ProcessAuthorizationResponse(ctx, q.Get("code"), q.Get("state"), verifier)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
