package httpserve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate makes a pair for 127.0.0.1.
func writeCertificate(t *testing.T, cert, key, name string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate that is replaced on disk is used from then on; half of a pair is not.
func TestTLS(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	writeCertificate(t, cert, key, "first")
	x := open(t, leave, func(o *Options) { o.TLSCert, o.TLSKey = cert, key })
	if text := x.user(alice).run("over TLS"); !strings.Contains(text, "over TLS") {
		t.Error(text)
	}
	c, err := loadTLS(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	files := &certificate{cert: cert, key: key}
	name := func() string {
		files.checked = time.Time{}
		pair, err := files.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if c.MinVersion < tls.VersionTLS12 || name() != "first" {
		t.Errorf("version %x, name %s", c.MinVersion, name())
	}
	writeCertificate(t, cert, filepath.Join(t.TempDir(), "elsewhere"), "half")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "first" {
		t.Errorf("with half of a new pair: %s", got)
	}
	writeCertificate(t, cert, key, "second")
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "second" {
		t.Errorf("with a new pair: %s", got)
	}
}
