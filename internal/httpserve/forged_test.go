package httpserve

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestForgedTokens has tokens that one check or another of a careless reader lets pass: by
// their algorithm, by keys that they bring, by claims that are missing or of another type.
func TestForgedTokens(t *testing.T) {
	const resource = "https://runner.example/mcp"
	is, own := newIssuer(t), newIssuer(t)
	a, err := newAuth(Options{Issuer: is.URL, Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	claims := func(change string) []byte {
		c := map[string]any{"iss": is.URL, "sub": "carol", "aud": resource, "exp": time.Now().Add(time.Hour).Unix()}
		if err := json.Unmarshal([]byte(change), &c); err != nil {
			t.Fatal(err)
		}
		for name, value := range c {
			if value == nil {
				delete(c, name)
			}
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const header = `{"alg":"RS256","kid":"k"}`
	if who, err := a.clientFor(t.Context(), signed(t, is.key, header, claims(`{}`))); err != nil || !strings.HasPrefix(who.Client, "sub.") {
		t.Fatalf("a valid token: %v, %v", who, err)
	}
	public, err := x509.MarshalPKIXPublicKey(&is.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	with := func(head string, body []byte, sign func(text string) []byte) string {
		text := encode([]byte(head)) + "." + encode(body)
		return text + "." + encode(sign(text))
	}
	mac := func(key []byte) func(string) []byte {
		return func(text string) []byte {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(text))
			return h.Sum(nil)
		}
	}
	pss := func(text string) []byte {
		sum := sha256.Sum256([]byte(text))
		b, err := rsa.SignPSS(rand.Reader, is.key, crypto.SHA256, sum[:], nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk := fmt.Sprintf(`{"kty":"RSA","kid":"k","n":%q,"e":"AQAB"}`, encode(own.key.N.Bytes()))
	in := func(after time.Duration) int64 { return time.Now().Add(after).Unix() }
	forged := map[string]string{
		"HMAC of the public key, as DER": with(`{"alg":"HS256","kid":"k"}`, claims(`{}`), mac(public)),
		"HMAC of the public key, as PEM": with(`{"alg":"HS256","kid":"k"}`, claims(`{}`), mac(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))),
		"HMAC of nothing":                with(`{"alg":"HS256","kid":"k"}`, claims(`{}`), mac(nil)),
		"an algorithm not announced":     with(`{"alg":"PS256","kid":"k"}`, claims(`{}`), pss),
		"a curve": with(`{"alg":"ES256","kid":"k"}`, claims(`{}`), func(text string) []byte {
			s := sha256.Sum256([]byte(text))
			r, v, _ := ecdsa.Sign(rand.Reader, curve, s[:])
			return append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
		}),
		"no algorithm":                     signed(t, is.key, `{"kid":"k"}`, claims(`{}`)),
		"a key in the header":              signed(t, own.key, `{"alg":"RS256","kid":"k","jwk":`+jwk+`}`, claims(`{}`)),
		"a key's address in the header":    signed(t, own.key, `{"alg":"RS256","kid":"k","jku":"`+own.URL+`/keys"}`, claims(`{}`)),
		"a certificate in the header":      signed(t, own.key, `{"alg":"RS256","kid":"k","x5c":["MIIB"]}`, claims(`{}`)),
		"a critical extension":             signed(t, is.key, `{"alg":"RS256","kid":"k","crit":["exp"],"exp":1}`, claims(`{}`)),
		"a path as the key's name":         signed(t, own.key, `{"alg":"RS256","kid":"../../k"}`, claims(`{}`)),
		"no audience":                      signed(t, is.key, header, claims(`{"aud":null}`)),
		"an empty audience":                signed(t, is.key, header, claims(`{"aud":[]}`)),
		"part of the audience":             signed(t, is.key, header, claims(`{"aud":"https://runner.example/"}`)),
		"more than the audience":           signed(t, is.key, header, claims(`{"aud":"https://runner.example/mcp/"}`)),
		"the audience in other capitals":   signed(t, is.key, header, claims(`{"aud":"https://RUNNER.example/mcp"}`)),
		"the audience as another claim":    signed(t, is.key, header, claims(`{"aud":"x","azp":"`+resource+`","client_id":"`+resource+`"}`)),
		"no issuer":                        signed(t, is.key, header, claims(`{"iss":null}`)),
		"an issuer with a slash":           signed(t, is.key, header, claims(`{"iss":"`+is.URL+`/"}`)),
		"no end":                           signed(t, is.key, header, claims(`{"exp":null}`)),
		"ended just now":                   signed(t, is.key, header, claims(fmt.Sprintf(`{"exp":%d}`, in(-2*time.Second)))),
		"an end that is no number":         signed(t, is.key, header, claims(`{"exp":"never"}`)),
		"an end below zero":                signed(t, is.key, header, claims(`{"exp":-1}`)),
		"not yet valid":                    signed(t, is.key, header, claims(fmt.Sprintf(`{"nbf":%d}`, in(time.Hour)))),
		"no subject":                       signed(t, is.key, header, claims(`{"sub":null}`)),
		"a subject that is no text":        signed(t, is.key, header, claims(`{"sub":{"a":1}}`)),
		"claims elsewhere":                 signed(t, is.key, header, claims(`{"_claim_names":{"aud":"x"},"_claim_sources":{"x":{"endpoint":"`+own.URL+`"}},"aud":null}`)),
		"JSON serialization":               `{"payload":"e30","signatures":[{"protected":"e30","signature":""}]}`,
		"of another issuer for the server": signed(t, own.key, header, claims(`{"iss":"`+own.URL+`"}`)),
	}
	for name, token := range forged {
		if who, err := a.clientFor(t.Context(), token); err == nil {
			t.Errorf("%s: it is the token of %s", name, who.Client)
		}
	}
	if n := own.asked.Load(); n > 0 {
		t.Errorf("the forger's server was asked %d times", n)
	}
	// Whose names are alike stay apart.
	clients := map[string]string{}
	for _, sub := range []string{"carol", "Carol", "carol ", "carol\\u0000", "default", "alice"} {
		who, err := a.clientFor(t.Context(), signed(t, is.key, header, claims(`{"sub":"`+sub+`"}`)))
		if err != nil || clients[who.Client] != "" || who.Client == "default" || who.Client == "alice" {
			t.Errorf("%q is %s, as is %q: %v", sub, who.Client, clients[who.Client], err)
		}
		clients[who.Client] = sub
	}
}

// TestLyingIssuer has documents of an issuer that are another's, endless or none: nobody gets
// in, and the next answer counts.
func TestLyingIssuer(t *testing.T) {
	const resource = "https://runner.example/mcp"
	is := newIssuer(t)
	lie := ""
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch lie {
		case "":
			r.URL.Path = "/" + strings.TrimPrefix(r.URL.Path, "/")
			body, err := http.Get(is.URL + r.URL.Path)
			if err != nil {
				t.Error(err)
				return
			}
			defer body.Body.Close()
			text, _ := io.ReadAll(body.Body)
			_, _ = io.WriteString(w, strings.ReplaceAll(string(text), is.URL, "http://"+r.Host))
		case "hangs up":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, lie)
		}
	}))
	defer front.Close()
	for _, lie = range []string{"hangs up", "{}", "[]", "null", `{"issuer":"` + is.URL + `","jwks_uri":"` + is.URL + `/keys"}`, `{"keys":[`, ""} {
		a, err := newAuth(Options{Issuer: front.URL, Resource: resource})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		a.issuers.now = func() time.Time { return now }
		bearer := token(t, is.key, `{"alg":"RS256","kid":"k"}`, map[string]any{"iss": front.URL, "sub": "carol", "aud": resource, "exp": now.Add(time.Hour).Unix()})
		if _, err := a.clientFor(t.Context(), bearer); (err == nil) != (lie == "") {
			t.Errorf("%q: %v", lie, err)
		}
		lie, now = "", now.Add(2*issuerGap)
		if _, err := a.clientFor(t.Context(), bearer); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// TestHostileTLS has clients that speak old TLS, none at all, or begin a handshake and wait:
// others are served.
func TestHostileTLS(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	writeCertificate(t, cert, key, "first")
	x := open(t, leave, func(o *Options) { o.TLSCert, o.TLSKey = cert, key })
	at := strings.TrimPrefix(x.url, "https://")
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		if c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}); err == nil {
			c.Close()
			t.Errorf("TLS %x is spoken", version)
		}
	}
	for i := range 100 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		switch i % 3 {
		case 0: // nothing
		case 1:
			_, _ = c.Write([]byte{0x16, 3, 1, 0xff, 0xff, 1}) // of a handshake that never comes
		case 2:
			fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", alice)
			line, err := bufio.NewReader(c).ReadString('\n')
			if err == nil && strings.Contains(line, "200") {
				t.Errorf("without TLS: %q", line)
			}
		}
	}
	if text := x.user(alice).run("served"); !strings.Contains(text, "served") {
		t.Error(text)
	}
}

// TestSlowClients has clients with a token that send bodies slowly, do not read their
// answers, and open streams by the hundred: another client is served, and what a client
// has too many of is refused.
func TestSlowClients(t *testing.T) {
	x := open(t, leave, nil)
	at := strings.TrimPrefix(x.url, "http://")
	u := x.user(alice)
	session := strings.TrimPrefix(u.headers[3], "Mcp-Session-Id: ")
	head := func(length int) string {
		return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n", alice, session, length)
	}
	const large = 32 << 20 // as much as a body may have
	answers := make(chan string, 100)
	for i := range 300 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		switch i % 3 {
		case 0: // a body that does not come
			fmt.Fprint(c, head(1<<20), `{"jsonrpc"`)
		case 1: // an answer that nobody reads
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
			fmt.Fprint(c, head(len(body)), body)
		case 2: // a body that is announced to be as large as may be
			fmt.Fprint(c, head(large), `{`)
			go func() {
				line, _ := bufio.NewReader(c).ReadString('\n')
				answers <- line
			}()
		}
	}
	// Whichever come first wait for their bodies, at most 128 MiB, and all others are refused.
	for range 100 - 128<<20/large {
		if line := <-answers; !strings.Contains(line, "429") && !strings.Contains(line, "503") {
			t.Errorf("a client may announce more than 128 MiB: %q", line)
		}
	}
	if text := x.user(bob).run("served"); !strings.Contains(text, "served") {
		t.Error(text)
	}
}
