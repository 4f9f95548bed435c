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
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"go.uber.org/zap"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/server"
)

// Token is a secret, whose it is and what it is good for.
type Token struct {
	Client, Secret string
	Metrics        bool          // for /metrics and nothing else
	MaxTimeout     time.Duration // of a program; 0: that of all clients
}

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

var clientPattern = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,40}$`)

// ParseTokens reads tokens, separated by commas, spaces or ends of lines: SECRET, or
// NAME=SECRET for one of several clients. NAME:60s=SECRET is one whose programs may take
// that long at most, NAME:metrics=SECRET one that may read /metrics and nothing else.
func ParseTokens(text string) (tokens []Token, err error) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		t := Token{Client: DefaultClient, Secret: word}
		who, secret, ok := strings.Cut(word, "=")
		name, role, has := strings.Cut(who, ":")
		if ok && clientPattern.MatchString(name) && strings.Trim(secret, "=") != "" {
			t = Token{Client: name, Secret: secret, Metrics: role == "metrics"}
			if has && !t.Metrics {
				if t.MaxTimeout, err = time.ParseDuration(role); err != nil || t.MaxTimeout <= 0 {
					return nil, fmt.Errorf("the token of %q is for %q, which is neither metrics nor a time, such as 60s", name, role)
				}
			}
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

// refusal is why a token is not taken: a word for the metrics, and the error for the log.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.reason + ": " + r.err.Error() }

// clientFor returns the token that a bearer has, without its secret. The error is a
// *refusal.
func (a *auth) clientFor(ctx context.Context, bearer string) (found Token, err error) {
	if bearer == "" || len(bearer) > maxBearer {
		return found, &refusal{"missing", errors.New("there is no token, or it is too long")}
	}
	sum := sha256.Sum256([]byte(bearer))
	for _, t := range a.tokens { // all of them, so that time tells nothing
		want := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			found = Token{Client: t.Client, Metrics: t.Metrics, MaxTimeout: t.MaxTimeout}
		}
	}
	if found.Client != "" {
		return found, nil
	}
	if a.issuer == "" || strings.Count(bearer, ".") != 2 {
		return found, &refusal{"unknown", errors.New("no client has this token")}
	}
	v, err := a.openID(ctx)
	if err != nil {
		return found, &refusal{"issuer", err}
	}
	token, err := v.Verify(ctx, bearer)
	_, late := errors.AsType[*oidc.TokenExpiredError](err)
	switch {
	case late:
		return found, &refusal{"expired", err}
	case err != nil:
		return found, &refusal{"invalid", err}
	case token.Subject == "":
		return found, &refusal{"invalid", errors.New("it has no subject")}
	}
	who := sha256.Sum256([]byte(token.Issuer + "\x00" + token.Subject))
	return Token{Client: "sub." + hex.EncodeToString(who[:16])}, nil
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

// tokenOf returns the token of an authenticated request, without its secret.
func tokenOf(r *http.Request) Token {
	t, _ := r.Context().Value(clientKey{}).(Token)
	return t
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
		token = strings.TrimSpace(token)
		who, err := s.auth.clientFor(r.Context(), token)
		if err != nil {
			s.refused(err)
			challenge := `Bearer realm="coderunner"`
			if token != "" { // RFC 6750: else the client does not know that it needs one
				challenge += `, error="invalid_token"`
			}
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
		if who.Metrics && r.URL.Path != metricsPath {
			http.Error(w, "This token is for "+metricsPath+" and nothing else.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, who)))
	})
}

// refusalGap is the least time between two lines of the log about refused tokens, of which
// anybody can send as many as they like.
const refusalGap = time.Second

// refused counts a token that is not taken, and logs why.
func (s *Server) refused(err error) {
	r, _ := errors.AsType[*refusal](err)
	s.metrics.count("coderunner_tokens_refused_total", "reason", r.reason)
	now := time.Now().UnixNano()
	if last := s.lastRefusal.Load(); r.reason != "missing" && now-last > int64(refusalGap) && s.lastRefusal.CompareAndSwap(last, now) {
		s.log.Warn("refuse a token", zap.String("reason", r.reason), zap.Error(r.err))
	}
}
