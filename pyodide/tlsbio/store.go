package tlsbio

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
)

// Store has the parsed certificates and keys of one program by the SHA-256 of what
// they were made from. The program pays for what is kept or in use.
type Store struct {
	// System returns the authorities that contexts trust by default.
	System func() (*x509.CertPool, error)
	// Extra are authorities that every client trusts, whatever it says: those of
	// our own dialer.
	Extra []*x509.Certificate
	// Reserve charges bytes to the program, Unreserve gives them back.
	Reserve   func(n int64) bool
	Unreserve func(n int64)

	mu    sync.Mutex
	items map[string]*list.Element // of *item
	order list.List                // the latest used first
}

// item is one of: authorities, a chain with its key.
type item struct {
	key   string
	pool  *x509.CertPool
	certs []*x509.Certificate
	chain *tls.Certificate
	size  int64 // reserved
	uses  int
	gone  bool
}

const (
	maxItems   = 16   // that are kept
	maxRoots   = 4096 // of an item
	certMemory = 8    // bytes that a byte of a certificate takes once parsed
)

// errMemory is the error when the program's memory does not suffice.
var errMemory = errors.New("out of memory for certificates")

func (s *Store) get(key string) (*item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.items[key]
	if !ok {
		return nil, &MissingError{key}
	}
	s.order.MoveToFront(e)
	return e.Value.(*item), nil
}

// put keeps an item and drops those that were not used for the longest time.
func (s *Store) put(it *item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.items[it.key]; ok {
		s.order.MoveToFront(e)
		return nil
	}
	for s.order.Len() >= maxItems {
		s.drop()
	}
	for !s.Reserve(it.size) {
		if s.order.Len() == 0 {
			return errMemory
		}
		s.drop()
	}
	if s.items == nil {
		s.items = map[string]*list.Element{}
	}
	s.items[it.key] = s.order.PushFront(it)
	return nil
}

func (s *Store) drop() {
	it := s.order.Remove(s.order.Back()).(*item)
	delete(s.items, it.key)
	if it.gone = true; it.uses == 0 {
		s.Unreserve(it.size)
	}
}

func (s *Store) hold(items []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		it.uses++
	}
}

func (s *Store) release(items []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		if it.uses--; it.gone && it.uses == 0 {
			s.Unreserve(it.size)
		}
	}
}

// Root is what AddRoots tells of a certificate.
type Root struct {
	Length int  `json:"length"` // in DER
	CA     bool `json:"ca"`
}

// AddRoots keeps authorities, certificates in DER one after the other. It keeps no
// part of der.
func (s *Store) AddRoots(der []byte) ([]Root, error) {
	der = bytes.Clone(der) // parsed certificates refer to it
	it := &item{key: digest(der), pool: x509.NewCertPool(), size: certMemory * int64(len(der))}
	var roots []Root
	for len(der) > 0 {
		var raw asn1.RawValue
		rest, err := asn1.Unmarshal(der, &raw)
		if err != nil || raw.Tag != asn1.TagSequence {
			return nil, &Error{Library: "ASN1", Reason: "NOT_ENOUGH_DATA", Text: "not enough data"}
		}
		cert, err := x509.ParseCertificate(raw.FullBytes)
		if err != nil {
			return nil, &Error{Library: "X509", Reason: "ASN1_LIB", Text: strings.TrimPrefix(err.Error(), "x509: ")}
		}
		if der = rest; len(roots) == maxRoots {
			return nil, &Error{Library: "X509", Reason: "TOO_MANY_CERTIFICATES", Text: "too many certificates"}
		}
		roots = append(roots, Root{len(raw.FullBytes), isAuthority(cert)})
		it.certs = append(it.certs, cert)
		it.pool.AddCert(cert)
	}
	return roots, s.put(it)
}

// isAuthority reports what OpenSSL's X509_check_ca does.
func isAuthority(c *x509.Certificate) bool {
	if c.BasicConstraintsValid {
		return c.IsCA
	}
	return c.Version == 1 && selfIssued(c) || c.KeyUsage&x509.KeyUsageCertSign != 0
}

// pool returns the authorities of several items together.
func (s *Store) pool(keys []string, system, extra bool) (*item, error) {
	extra = extra && len(s.Extra) > 0
	if len(keys) == 1 && !system && !extra {
		return s.get(keys[0])
	}
	base := x509.NewCertPool()
	if system {
		var err error
		if base, err = s.System(); err != nil {
			return nil, err
		}
	}
	if len(keys) == 0 && !extra {
		return &item{pool: base}, nil
	}
	all := &item{key: "all"}
	if system {
		all.key += " system"
	}
	if extra {
		all.key += " extra"
	}
	for _, key := range keys {
		it, err := s.get(key)
		if err != nil {
			return nil, err
		}
		all.certs = append(all.certs, it.certs...)
		all.size += it.size // the pool holds the certificates, too
		all.key += " " + key
	}
	if have, err := s.get(all.key); err == nil {
		return have, nil
	}
	all.pool = base.Clone()
	all.size += 64 << 10
	for _, c := range all.certs {
		all.pool.AddCert(c)
	}
	for _, c := range s.Extra {
		if extra {
			all.pool.AddCert(c)
		}
	}
	return all, s.put(all)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
