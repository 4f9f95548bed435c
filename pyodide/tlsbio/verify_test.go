package tlsbio

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestVerify has servers with certificates of every kind.
func TestVerify(t *testing.T) {
	store, _ := newStore(1 << 20)
	ca := newAuthority(t, "CA", nil)
	roots := store.addRoot(t, ca)
	between := newAuthority(t, "between", ca)
	other := newAuthority(t, "another CA", nil)
	self := newLeaf(t, nil, nil)
	long := []*authority{newAuthority(t, "0", nil)}
	for range 30 {
		long = append([]*authority{newAuthority(t, "longer", long[0])}, long...)
	}
	change := func(f func(*x509.Certificate)) []*authority { return []*authority{newLeaf(t, ca, f)} }
	for _, c := range []struct {
		what  string
		chain []*authority
		name  string
		code  int // of OpenSSL; 0: it is valid
	}{
		{"valid", change(nil), "localhost", 0},
		{"valid with an authority between", []*authority{newLeaf(t, between, nil), between}, "localhost", 0},
		{"wildcard", change(nil), "a.example.org", 0},
		{"wildcard for two labels", change(nil), "a.b.example.org", verifyHost},
		{"wildcard for none", change(nil), "example.org", verifyHost},
		{"address", change(nil), "127.0.0.1", 0},
		{"IPv6 address", change(nil), "::1", 0},
		{"another address", change(nil), "127.0.0.2", verifyIP},
		{"an address as a DNS name", change(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"127.0.0.1"}, nil }), "127.0.0.1", verifyIP},
		{"another name", change(nil), "bad.org", verifyHost},
		{"common name only", change(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, nil }), "localhost", 0},
		{"common name beside others", change(func(c *x509.Certificate) { c.DNSNames = []string{"x"} }), "localhost", verifyHost},
		{"expired", change(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), "localhost", verifyExpired},
		{"not yet valid", change(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "localhost", verifyNotYet},
		{"for clients", change(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "localhost", verifyPurpose},
		{"self-signed", []*authority{self}, "localhost", verifySelfSigned},
		{"of an unknown authority", []*authority{newLeaf(t, other, nil)}, "localhost", verifyNoIssuer},
		{"of an unknown authority that is shown", []*authority{newLeaf(t, other, nil), other}, "localhost", verifySelfInChain},
		{"signed by no authority", []*authority{newLeaf(t, self, nil), self}, "localhost", verifySelfSigned},
		{"long chain", append([]*authority{newLeaf(t, long[0], nil)}, long...), "localhost", verifyUnspecified},
	} {
		client := Config{Name: c.name, CheckName: true, Verify: VerifyRequired, Roots: []string{roots}}
		server := Config{Chains: []string{store.addChain(t, c.chain[0], c.chain[1:]...)}}
		err, _ := connect(t, store, client, server).handshake(t)
		var e *Error
		if errors.As(err, &e); err != nil && e.Code != c.code || err == nil && c.code != 0 {
			t.Errorf("%s: %v, %+v, want code %d", c.what, err, e, c.code)
		}
		client.Verify, client.CheckName = VerifyNone, false
		connect(t, store, client, server).must(t)
	}
}

// TestClientCertificate has a server that asks for one.
func TestClientCertificate(t *testing.T) {
	store, _ := newStore(1 << 20)
	ca := newAuthority(t, "CA", nil)
	chain, roots := store.addChain(t, newLeaf(t, ca, nil)), store.addRoot(t, ca)
	foreign := store.addChain(t, newLeaf(t, newAuthority(t, "another", nil), nil))
	for _, c := range []struct {
		chains         []string
		verify         Verify
		client, server string // reasons
	}{
		{nil, VerifyOptional, "", ""},
		{[]string{chain}, VerifyRequired, "", ""},
		{nil, VerifyRequired, "TLSV13_ALERT_CERTIFICATE_REQUIRED", "PEER_DID_NOT_RETURN_A_CERTIFICATE"},
		{[]string{foreign}, VerifyOptional, "SSLV3_ALERT_BAD_CERTIFICATE", "unable to get local issuer certificate"},
	} {
		p := connect(t, store, Config{Chains: c.chains}, Config{Chains: []string{chain}, Verify: c.verify, Roots: []string{roots}})
		client, server := p.handshake(t)
		if reason(client) != c.client || reason(server) != c.server {
			t.Errorf("%+v: client %v, server %v", c, client, server)
		}
	}
}

func reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason + e.Message
	}
	return ""
}

// TestExtraAuthorities has one that clients trust, but servers do not.
func TestExtraAuthorities(t *testing.T) {
	store, _ := newStore(1 << 20)
	ours, theirs := newAuthority(t, "ours", nil), newAuthority(t, "theirs", nil)
	store.Extra = []*x509.Certificate{ours.cert}
	chain := store.addChain(t, newLeaf(t, ours, nil))
	for _, roots := range [][]string{nil, {store.addRoot(t, theirs)}} {
		for _, system := range []bool{false, true} {
			c := Config{Name: "localhost", CheckName: true, Verify: VerifyRequired, Roots: roots, System: system}
			connect(t, store, c, Config{Chains: []string{chain}}).must(t)
		}
	}
	_, err := connect(t, store, Config{Chains: []string{chain}}, Config{Chains: []string{chain}, Verify: VerifyRequired}).handshake(t)
	if err == nil {
		t.Error("a server trusts them")
	}
}

// The key of RFC 8410, section 10.3, encrypted with the password hello by
// openssl pkcs8 -topk8 and its defaults.
func TestEncryptedKey(t *testing.T) {
	store, _ := newStore(1 << 20)
	leaf := newLeaf(t, nil, nil)
	chain, _ := leaf.pem(t)
	for _, c := range []struct{ password, want string }{
		{"hello", "key values mismatch"}, // decrypted: it is another's
		{"bad", "bad decrypt"},
		{"", "bad decrypt"},
	} {
		if _, err := store.AddChain(chain, []byte(encryptedPEM), []byte(c.password)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.password, err)
		}
	}
	_, key := newLeaf(t, nil, nil).pem(t)
	if _, err := store.AddChain(chain, key, nil); reason(err) != "KEY_VALUES_MISMATCH" {
		t.Error(err)
	}
	if _, err := store.AddChain(nil, key, nil); err != errPEM {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	leaf := newLeaf(t, nil, func(c *x509.Certificate) {
		c.EmailAddresses = []string{"a@b"}
		c.IPAddresses = []net.IP{net.ParseIP("2001:db8::1")}
		c.NotBefore = time.Date(2018, 1, 5, 9, 34, 43, 0, time.UTC)
	})
	d, err := Describe(leaf.cert.Raw)
	if err != nil || d.Subject[0][0] != [2]string{"commonName", "localhost"} || d.Serial != "01" || d.NotBefore != "Jan  5 09:34:43 2018 GMT" ||
		d.AltNames[0] != [2]any{"DNS", "localhost"} || d.AltNames[3] != [2]any{"IP Address", "2001:DB8:0:0:0:0:0:1"} {
		t.Errorf("%+v, %v", d, err)
	}
}

const encryptedPEM = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjCGyWDgacU8QICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGLl3ZeTFPaHpQLDtBT1JLQEQD4t
S8B1raYOd/IGlwKVNCfrS8y9kgX/Splk6QBfpxwioOhHiu6VgHLnxpvZYtVHl6Zb
cXSheV2vTIa2XbmpiOk=
-----END ENCRYPTED PRIVATE KEY-----
`
