//go:build linux

package hostile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // PEM, for SSL_CERT_FILE
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), file: filepath.Join(t.TempDir(), "ca.pem")}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hostile test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue signs a certificate for this machine, after a change of it. A nil
// authority lets it sign itself.
func (a *authority) issue(t *testing.T, change func(c *x509.Certificate)) *tls.Certificate {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "registry"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(c)
	}
	key := newKey(t)
	parent, signer := c, key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestTLS has registries with certificates that are wrong in one way each.
// Both languages refuse them, and both honour SSL_CERT_FILE.
//
// Row 50.
func TestTLS(t *testing.T) {
	needsServer(t)
	t.Parallel()
	ca, cache := newAuthority(t), ownCache(t)
	for i, c := range []struct {
		name        string
		certificate *tls.Certificate
		trusted     bool // SSL_CERT_FILE names the authority
		works       bool
	}{
		{"of an authority in SSL_CERT_FILE", ca.issue(t, nil), true, true},
		{"of an unknown authority", ca.issue(t, nil), false, false},
		{"signed by itself", (*authority)(nil).issue(t, nil), true, false},
		{"expired", ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), true, false},
		{"not yet valid", ca.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), true, false},
		{"for another host", ca.issue(t, func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 2)}, []string{"registry.test"}
		}), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newSecureRegistry(t, c.certificate)
			name := fmt.Sprintf("good%d", i) // none is in the cache
			w := module(name, "x = 'good' + '1'")
			r.wheel(name, w.Filename, w.Build(), "")
			r.npm(name, map[string]string{"package/package.json": `{"name":"` + name + `","version":"1.0.0","main":"i.js"}`, "package/i.js": "module.exports = 'good' + 1"}, nil)
			env := r.env()
			if c.trusted {
				env = append(env, "SSL_CERT_FILE="+ca.file, "SSL_CERT_DIR=")
			}
			s := start(t, settings{env: env, cache: cache})
			for _, a := range []arguments{{Language: python, Code: "import " + name + "\n" + name + ".x"}, {Language: javascript, Code: "import x from '" + name + "'; x"}} {
				o, text, err := s.run(a)
				switch {
				case err != nil:
					t.Errorf("%s: %v", a.Language, err)
				case c.works && !strings.Contains(o.text(), "good1"):
					t.Errorf("%s: %s %s", a.Language, o.Status, text)
				case !c.works && (o.Status != "not_installed" || !strings.Contains(strings.ToLower(text), "certificate")):
					t.Errorf("%s: %s, and it does not speak of the certificate: %s", a.Language, o.Status, text)
				}
			}
			if !c.works && len(r.paths()) > 0 {
				t.Errorf("it was asked for %q", r.paths())
			}
		})
	}
}
