package httpserve

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "[]",
		alice:                                 "[{default " + alice + "}]",
		"a=" + alice + ", b=" + bob + "\n":    "[{a " + alice + "} {b " + bob + "}]",
		"c2VjcmV0IG9mIG1hbnkgYnl0ZXM=":        "[{default c2VjcmV0IG9mIG1hbnkgYnl0ZXM=}]",
		"../x=" + alice:                       "[{default ../x=" + alice + "}]",
		"short":                               "error",
		"name=short":                          "error",
		"a:60s=" + alice:                      "[{a " + alice + "}]",
		"a:metrics=" + alice:                  "[{a " + alice + "}]",
		"a:admin=" + alice:                    "error",
		"a:-1s=" + alice:                      "error",
		"a:=" + alice:                         "error",
		"a=" + alice + "=\ta=" + bob + "\r\n": "[{a " + alice + "=} {a " + bob + "}]",
	} {
		tokens, err := ParseTokens(text)
		var got []struct{ Client, Secret string }
		for _, x := range tokens {
			got = append(got, struct{ Client, Secret string }{x.Client, x.Secret})
		}
		if text := fmt.Sprint(got); err != nil && want != "error" || err == nil && text != want {
			t.Errorf("ParseTokens(%q) = %s, %v, want %s", text, text, err, want)
		}
	}
}

// FuzzParseTokens: whoever's a token is can be the name of a directory.
func FuzzParseTokens(f *testing.F) {
	f.Add("a=" + alice + "," + bob)
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := ParseTokens(text)
		for _, token := range tokens {
			if err == nil && (!clientPattern.MatchString(token.Client) || len(token.Secret) < minSecret) {
				t.Errorf("ParseTokens(%q) has %+v", text, token)
			}
		}
	})
}

// issuer is an OpenID Connect provider with one key.
type issuer struct {
	*httptest.Server
	key   *rsa.PrivateKey
	kid   atomic.Value // a string
	asked atomic.Int32 // for its keys
}

func newIssuer(t testing.TB) *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	x := &issuer{key: key}
	x.kid.Store("k")
	encode := base64.RawURLEncoding.EncodeToString
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/keys" {
			x.asked.Add(1)
			fmt.Fprintf(w, `{"keys":[{"kty":"RSA","kid":%q,"alg":"RS256","use":"sig","n":%q,"e":%q}]}`, x.kid.Load(), encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes()))
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":"x","token_endpoint":"x","id_token_signing_alg_values_supported":["RS256"]}`, x.URL, x.URL+"/keys")
	}))
	t.Cleanup(x.Close)
	return x
}

// token signs claims with a key.
func token(t *testing.T, key *rsa.PrivateKey, header string, claims map[string]any) string {
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, key, header, body)
}

func signed(t *testing.T, key *rsa.PrivateKey, header string, claims []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, 5, sum[:]) // 5 is crypto.SHA256
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// FuzzIssuer: what an issuer's key has signed is taken if its claims are for this server,
// and nothing else is.
func FuzzIssuer(f *testing.F) {
	const resource, header = "https://runner.example/mcp", `{"alg":"RS256","kid":"k"}`
	is := newIssuer(f)
	a, err := newAuth(Options{Issuer: is.URL, Resource: resource})
	if err != nil {
		f.Fatal(err)
	}
	for _, claims := range []string{`{"iss":"ISSUER","sub":"carol","aud":"` + resource + `","exp":9999999999}`, `{"iss":"ISSUER","sub":"","aud":["x","` + resource + `"],"exp":1e10,"nbf":1}`, `{"iss":1,"aud":{},"exp":"1"}`} {
		f.Add(header, []byte(claims), []byte("signature"))
	}
	f.Fuzz(func(t *testing.T, head string, claims, signature []byte) {
		claims = bytes.ReplaceAll(claims, []byte("ISSUER"), []byte(is.URL)) // another port for each process
		encode := base64.RawURLEncoding.EncodeToString
		for _, forged := range []string{encode([]byte(head)) + "." + encode(claims) + "." + encode(signature), string(signature), string(claims)} {
			if client, err := a.clientFor(t.Context(), forged); err == nil {
				t.Errorf("%q is the token of %s", forged, client.Client)
			}
		}
		who, err := a.clientFor(t.Context(), signed(t, is.key, head, claims))
		client, ok := who.Client, err == nil
		var c struct {
			Issuer   string `json:"iss"`
			Subject  string `json:"sub"`
			Audience any    `json:"aud"`
		}
		_ = json.Unmarshal(claims, &c)
		if ok && (c.Issuer != is.URL || c.Subject == "" || !strings.Contains(fmt.Sprint(c.Audience), resource) || len(client) != len("sub.")+32) {
			t.Errorf("%q: %s is the token of %s", head, claims, client)
		}
	})
}

// An issuer's tokens are taken if they are signed by it, for this server, and in time.
func TestIssuer(t *testing.T) {
	const resource = "https://runner.example/mcp"
	is, other := newIssuer(t), newIssuer(t)
	log, lines := observer.New(zap.WarnLevel)
	x := open(t, leave, func(o *Options) { o.Issuer, o.Resource, o.MCP.Log = is.URL, resource, zap.New(log) })
	claims := func(change map[string]any) map[string]any {
		c := map[string]any{"iss": is.URL, "sub": "carol", "aud": resource, "exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range change {
			c[name] = value
		}
		return c
	}
	const header = `{"alg":"RS256","kid":"k"}`
	valid := token(t, is.key, header, claims(nil))
	parts := strings.Split(valid, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for name, row := range map[string]struct {
		token  string
		status int
	}{
		"valid":              {valid, 200},
		"static":             {alice, 200},
		"several audiences":  {token(t, is.key, header, claims(map[string]any{"aud": []string{"x", resource}})), 200},
		"another audience":   {token(t, is.key, header, claims(map[string]any{"aud": "https://other.example/mcp"})), 401},
		"another issuer":     {token(t, is.key, header, claims(map[string]any{"iss": other.URL})), 401},
		"expired":            {token(t, is.key, header, claims(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})), 401},
		"nobody":             {token(t, is.key, header, claims(map[string]any{"sub": ""})), 401},
		"another key":        {token(t, other.key, header, claims(nil)), 401},
		"unsigned":           {none + "." + parts[1] + ".", 401},
		"unsigned but signd": {none + "." + parts[1] + "." + parts[2], 401},
		"other signature":    {parts[0] + "." + parts[1] + "." + parts[2][1:] + "A", 401},
		"not a token":        {"a.b.c", 401},
	} {
		answer, text := x.do("GET", "/status.json", "", "Authorization: Bearer "+row.token)
		if answer.StatusCode != row.status {
			t.Errorf("%s: %d %s, want %d", name, answer.StatusCode, text, row.status)
		}
		if challenge := answer.Header.Get("WWW-Authenticate"); strings.Contains(challenge, `error="invalid_token"`) != (row.status == 401) {
			t.Errorf("%s: WWW-Authenticate %q", name, challenge)
		}
	}
	_, text := x.do("GET", "/status.json", "", "Authorization: Bearer "+valid)
	_, same := x.do("GET", "/status.json", "", "Authorization: Bearer "+token(t, is.key, header, claims(map[string]any{"aud": []string{resource}})))
	_, elsewhere := x.do("GET", "/status.json", "", "Authorization: Bearer "+token(t, is.key, header, claims(map[string]any{"sub": "dave"})))
	name := func(text string) string {
		var s struct{ Client string }
		if err := json.Unmarshal([]byte(text), &s); err != nil || !strings.HasPrefix(s.Client, "sub.") {
			t.Errorf("client of %s", text)
		}
		return s.Client
	}
	if name(text) != name(same) || name(text) == name(elsewhere) {
		t.Errorf("clients %s, %s, %s", name(text), name(same), name(elsewhere))
	}
	_, text = x.do("GET", "/metrics", "", "Authorization: Bearer "+alice)
	for _, want := range []string{`coderunner_tokens_refused_total{reason="expired"} 1`, `coderunner_tokens_refused_total{reason="invalid"} 8`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics have no %s:\n%s", want, text)
		}
	}
	all := lines.FilterMessage("refuse a token").All()
	if len(all) == 0 || len(all) > 10 {
		t.Errorf("the log has %v", all)
	}
	for _, line := range all { // which of them are logged depends on the order
		if why := fmt.Sprint(line.ContextMap()["error"]); !strings.Contains(why, "oidc") && !strings.Contains(why, "subject") && !strings.Contains(why, "signature") {
			t.Errorf("the log has no reason: %v", line)
		}
	}
	for _, line := range lines.All() {
		if strings.Contains(fmt.Sprint(line), parts[2]) {
			t.Error("the log has a token")
		}
	}
	answer, text := x.do("POST", "/mcp", "")
	if strings.Contains(answer.Header.Get("WWW-Authenticate"), "error") {
		t.Errorf("without a token: WWW-Authenticate %q", answer.Header.Get("WWW-Authenticate"))
	}
	where := "https://runner.example/.well-known/oauth-protected-resource/mcp"
	if !strings.Contains(answer.Header.Get("WWW-Authenticate"), `resource_metadata="`+where+`"`) {
		t.Errorf("WWW-Authenticate %q: %s", answer.Header.Get("WWW-Authenticate"), text)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		if answer, text := x.do("GET", path, "", "Host: runner.example"); answer.StatusCode != 200 || !strings.Contains(text, resource) || !strings.Contains(text, is.URL) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// Tokens that name unknown keys make nobody ask the issuer again and again, and a new key is
// known in time.
func TestIssuerIsSpared(t *testing.T) {
	const resource = "https://runner.example/mcp"
	is := newIssuer(t)
	a, err := newAuth(Options{Issuer: is.URL, Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a.issuers.now = func() time.Time { return now }
	ok := func(kid string) bool {
		claims := map[string]any{"iss": is.URL, "sub": "carol", "aud": resource, "exp": time.Now().Add(time.Hour).Unix()}
		_, err := a.clientFor(t.Context(), token(t, is.key, `{"alg":"RS256","kid":"`+kid+`"}`, claims))
		return err == nil
	}
	if !ok("k") {
		t.Fatal("a valid token is refused")
	}
	for i := range 50 {
		if ok(fmt.Sprint("unknown", i)) {
			t.Fatal("an unknown key")
		}
	}
	if n := is.asked.Load(); n != 1 || !ok("k") {
		t.Errorf("the issuer was asked %d times", n)
	}
	is.kid.Store("next")
	now = now.Add(issuerGap)
	// The key set hands an answer on before it keeps it.
	for end := time.Now().Add(time.Minute); !ok("next") || ok("k"); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("a new key is not known, or an old one still")
		}
	}
	if n := is.asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times for a new key", n-1)
	}
}
