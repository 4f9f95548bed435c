package httpserve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"coderunner/internal/server"
)

// Token is a secret and whose it is.
type Token struct{ Client, Secret string }

const (
	// DefaultClient is whose a token without a name is. It shares the sessions of the
	// command line and of stdio.
	DefaultClient = "default"
	// minSecret and maxBearer bound tokens, in bytes.
	minSecret = 16
	maxBearer = 16 << 10
	// issuerGap is the least time between two requests to an issuer for the same.
	issuerGap = 10 * time.Second
)

var clientPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,40}$`)

// ParseTokens reads tokens, separated by commas, spaces or ends of lines: SECRET, or
// NAME=SECRET for one of several clients.
func ParseTokens(text string) (tokens []Token, err error) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		t := Token{DefaultClient, word}
		if name, secret, ok := strings.Cut(word, "="); ok && clientPattern.MatchString(name) && strings.Trim(secret, "=") != "" {
			t = Token{name, secret}
		}
		if len(t.Secret) < minSecret {
			return nil, fmt.Errorf("the token of %q has %d characters: take at least %d random ones", t.Client, len(t.Secret), minSecret)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// NewSecret returns a token that nobody guesses.
func NewSecret() string { return rand.Text() + rand.Text() }

// auth knows who may do what.
type auth struct {
	tokens           []Token
	issuer, resource string
	key              []byte // of the ids of sessions: the same wherever the tokens are

	issuers  *sparing
	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

func newAuth(o Options) (*auth, error) {
	a := &auth{tokens: o.Tokens, issuer: o.Issuer, resource: o.Resource, issuers: &sparing{now: time.Now, last: map[string]time.Time{}}}
	if len(o.Tokens) == 0 && o.Issuer == "" {
		return nil, errors.New("serve HTTP: no token and no issuer: nobody could use it")
	}
	if (o.Issuer == "") != (o.Resource == "") {
		return nil, errors.New("serve HTTP: --http-issuer and --http-resource belong together: whose tokens are taken, and which audience they must have")
	}
	for _, text := range []string{o.Issuer, o.Resource} {
		if u, err := url.Parse(text); text != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost") {
			return nil, fmt.Errorf("serve HTTP: %q is not an https URL", text)
		}
	}
	mac := hmac.New(sha256.New, []byte("coderunner sessions"))
	for _, t := range o.Tokens {
		fmt.Fprintf(mac, "%q%q", t.Client, t.Secret)
	}
	if len(o.Tokens) == 0 {
		fmt.Fprint(mac, rand.Text())
	}
	a.key = mac.Sum(nil)
	return a, nil
}

// clientFor returns whose a bearer token is.
func (a *auth) clientFor(ctx context.Context, bearer string) (client string, ok bool) {
	if bearer == "" || len(bearer) > maxBearer {
		return "", false
	}
	sum := sha256.Sum256([]byte(bearer))
	for _, t := range a.tokens { // all of them, so that time tells nothing
		want := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			client, ok = t.Client, true
		}
	}
	if ok || a.issuer == "" || strings.Count(bearer, ".") != 2 {
		return client, ok
	}
	v, err := a.openID(ctx)
	if err != nil {
		return "", false
	}
	token, err := v.Verify(ctx, bearer)
	if err != nil || token.Subject == "" {
		return "", false
	}
	who := sha256.Sum256([]byte(token.Issuer + "\x00" + token.Subject))
	return "sub." + hex.EncodeToString(who[:16]), true
}

// sparing is a transport that asks for each URL once in issuerGap only. Anybody can send
// tokens that name an unknown key, and for each of them the keys are fetched anew.
type sparing struct {
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // by URL, of which an issuer has two
}

func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	url, now := r.URL.String(), s.now()
	last, asked := s.last[url]
	if asked && now.Sub(last) < issuerGap {
		s.mu.Unlock()
		return nil, errors.New("the issuer was asked just now")
	}
	s.last[url] = now
	s.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// openID returns what checks the issuer's tokens: their signature, issuer, audience and
// times. The issuer is asked for its keys once, and again when it signs with others.
func (a *auth) openID(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verifier != nil {
		return a.verifier, nil
	}
	// The provider keeps the client of its context, and not its end.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: 10 * time.Second, Transport: a.issuers})
	p, err := oidc.NewProvider(ctx, a.issuer)
	if err != nil {
		return nil, err
	}
	a.verifier = p.VerifierContext(ctx, &oidc.Config{ClientID: a.resource})
	return a.verifier, nil
}

// metadata returns the document of RFC 9728 and its path, or nil.
func (a *auth) metadata() (http.Handler, string) {
	if a.issuer == "" {
		return nil, ""
	}
	return server.ResourceMetadata(a.resource, a.issuer)
}

// scheme is how a request may say who it is from.
type scheme bool

const (
	bearer        scheme = false
	bearerOrBasic scheme = true // a browser asks its user for a password: the token
)

type clientKey struct{}

// clientOf returns whose an authenticated request is.
func clientOf(r *http.Request) string {
	name, _ := r.Context().Value(clientKey{}).(string)
	return name
}

// authenticated lets only requests with a valid token pass.
func (s *Server) authenticated(how scheme, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(kind, "Bearer") {
			token = ""
		}
		if _, password, basic := r.BasicAuth(); basic && how == bearerOrBasic {
			token = password
		}
		client, ok := s.auth.clientFor(r.Context(), strings.TrimSpace(token))
		if !ok {
			challenge := `Bearer realm="coderunner"`
			if s.auth.issuer != "" {
				challenge += fmt.Sprintf(`, resource_metadata="%s"`, server.ResourceMetadataURL(s.auth.resource))
			}
			w.Header().Add("WWW-Authenticate", challenge)
			if how == bearerOrBasic {
				w.Header().Add("WWW-Authenticate", `Basic realm="coderunner: the token is the password", charset="UTF-8"`)
			}
			http.Error(w, "This needs a token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, client)))
	})
}
