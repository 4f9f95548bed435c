package tlsbio

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"net"
	"time"
)

// Results of OpenSSL's verification, see include/openssl/x509_vfy.h.
const (
	verifyNoCRL       = 3
	verifySignature   = 7
	verifyNotYet      = 9
	verifyExpired     = 10
	verifySelfSigned  = 18
	verifySelfInChain = 19
	verifyNoIssuer    = 20
	verifyNotCA       = 79
	verifyPathLength  = 25
	verifyPurpose     = 26
	verifyCritical    = 34
	verifyConstraint  = 47
	verifyHost        = 62
	verifyIP          = 64
	verifyWeakDigest  = 68
	verifyUnspecified = 1
)

var verifyTexts = map[int]string{
	verifyNoCRL: "unable to get certificate CRL", verifySignature: "certificate signature failure", verifyNotYet: "certificate is not yet valid",
	verifyExpired: "certificate has expired", verifySelfSigned: "self-signed certificate",
	verifySelfInChain: "self-signed certificate in certificate chain", verifyNoIssuer: "unable to get local issuer certificate",
	verifyNotCA: "invalid CA certificate", verifyPathLength: "path length constraint exceeded",
	verifyPurpose: "unsuitable certificate purpose", verifyCritical: "unhandled critical extension",
	verifyConstraint: "permitted subtree violation", verifyWeakDigest: "CA signature digest algorithm too weak",
}

// verify checks the peer's certificates and returns the chain that holds, in DER.
func (b *built) verify(s tls.ConnectionState) (chain []string, err error) {
	certs := s.PeerCertificates
	if b.Verify == VerifyNone || len(certs) == 0 {
		return nil, nil // crypto/tls has asked for those that must be there
	}
	usage := x509.ExtKeyUsageServerAuth
	if b.Server {
		usage = x509.ExtKeyUsageClientAuth
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	chains, err := certs[0].Verify(x509.VerifyOptions{Roots: b.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return nil, refusal(certs, err)
	}
	if b.CRL { // there are no lists, so that it is not known
		return nil, &Error{Code: verifyNoCRL, Message: verifyTexts[verifyNoCRL]}
	}
	if b.CheckName {
		if err := b.checkName(certs[0]); err != nil {
			return nil, err
		}
	}
	for _, c := range chains[0] {
		chain = append(chain, string(c.Raw))
	}
	return chain, nil
}

// refusal is the error of a verification in OpenSSL's terms.
func refusal(certs []*x509.Certificate, err error) error {
	code := verifyUnspecified
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var critical x509.UnhandledCriticalExtension
	switch {
	case errors.As(err, &invalid):
		switch invalid.Reason {
		case x509.Expired:
			if code = verifyExpired; invalid.Cert != nil && time.Now().Before(invalid.Cert.NotBefore) {
				code = verifyNotYet
			}
		case x509.NotAuthorizedToSign:
			code = verifyNotCA
		case x509.TooManyIntermediates:
			code = verifyPathLength
		case x509.IncompatibleUsage:
			code = verifyPurpose
		case x509.CANotAuthorizedForThisName, x509.NameConstraintsWithoutSANs, x509.UnconstrainedName, x509.TooManyConstraints:
			code = verifyConstraint
		}
	case errors.As(err, &unknown):
		code = unknownCode(certs)
	case errors.As(err, &critical):
		code = verifyCritical
	}
	text := verifyTexts[code]
	if text == "" {
		text = err.Error()
	}
	return &Error{Code: code, Message: text}
}

// unknownCode tells apart the chains that end at no authority.
func unknownCode(certs []*x509.Certificate) int {
	leaf, last := certs[0], certs[len(certs)-1]
	switch {
	case selfIssued(leaf):
		return verifySelfSigned
	case selfIssued(last):
		return verifySelfInChain
	}
	for i, c := range certs[:len(certs)-1] {
		if errors.As(c.CheckSignatureFrom(certs[i+1]), new(x509.InsecureAlgorithmError)) {
			return verifyWeakDigest
		}
	}
	return verifyNoIssuer
}

func selfIssued(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }

var (
	oidSAN = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// checkName checks the name that a client has asked for. A certificate without
// alternative names may have it as its common name, as with OpenSSL.
func (b *built) checkName(c *x509.Certificate) error {
	name := b.Name
	if c.VerifyHostname(name) == nil {
		return nil
	}
	if net.ParseIP(name) != nil {
		return &Error{Code: verifyIP, Message: fmt.Sprintf("IP address mismatch, certificate is not valid for '%s'.", name)}
	}
	alternative := b.NoCommonName
	for _, e := range c.Extensions {
		alternative = alternative || e.Id.Equal(oidSAN)
	}
	if !alternative {
		common := &x509.Certificate{DNSNames: []string{c.Subject.CommonName}}
		if common.VerifyHostname(name) == nil {
			return nil
		}
	}
	return &Error{Code: verifyHost, Message: fmt.Sprintf("Hostname mismatch, certificate is not valid for '%s'.", name)}
}
