package tlsbio

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func newAuthority(t testing.TB, name string, parent *authority) *authority {
	c := template(name)
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	return sign(t, c, parent)
}

func newLeaf(t testing.TB, parent *authority, change func(*x509.Certificate)) *authority {
	c := template("localhost")
	c.DNSNames = []string{"localhost", "*.example.org"}
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if change != nil {
		change(c)
	}
	return sign(t, c, parent)
}

func sign(t testing.TB, c *x509.Certificate, parent *authority) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent = &authority{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent.cert, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

// pem returns the chain from a down to its authorities, and a's key.
func (a *authority) pem(t testing.TB, between ...*authority) (chain, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append([]*authority{a}, between...) {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: x.cert.Raw})...)
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// newStore returns a store with room for n bytes, and what is taken of them.
func newStore(n int64) (*Store, *int64) {
	held := new(int64)
	return &Store{
		System: func() (*x509.CertPool, error) { return x509.NewCertPool(), nil },
		Reserve: func(k int64) bool {
			if *held+k > n {
				return false
			}
			*held += k
			return true
		},
		Unreserve: func(k int64) { *held -= k },
	}, held
}

func (s *Store) addChain(t testing.TB, a *authority, between ...*authority) string {
	t.Helper()
	chain, key := a.pem(t, between...)
	text, err := s.AddChain(chain, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return digest(text)
}

func (s *Store) addRoot(t testing.TB, a *authority) string {
	t.Helper()
	der := slices.Clone(a.cert.Raw)
	if _, err := s.AddRoots(der); err != nil {
		t.Fatal(err)
	}
	clear(der) // as the buffer of a request is used again
	return digest(a.cert.Raw)
}
