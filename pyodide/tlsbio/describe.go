package tlsbio

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"time"
)

// Name is a distinguished name: sets of pairs.
type Name [][][2]string

// Description is the dictionary that SSLSocket.getpeercert returns, see
// _decode_certificate in Modules/_ssl.c.
type Description struct {
	Subject   Name     `json:"subject"`
	Issuer    Name     `json:"issuer"`
	Version   int      `json:"version"`
	Serial    string   `json:"serialNumber"`
	NotBefore string   `json:"notBefore"`
	NotAfter  string   `json:"notAfter"`
	AltNames  [][2]any `json:"subjectAltName,omitempty"`
	OCSP      []string `json:"OCSP,omitempty"`
	Issuers   []string `json:"caIssuers,omitempty"`
	CRLs      []string `json:"crlDistributionPoints,omitempty"`
}

// longNames are OpenSSL's names of attributes.
var longNames = map[string]string{
	"2.5.4.3": "commonName", "2.5.4.4": "surname", "2.5.4.5": "serialNumber", "2.5.4.6": "countryName",
	"2.5.4.7": "localityName", "2.5.4.8": "stateOrProvinceName", "2.5.4.9": "streetAddress",
	"2.5.4.10": "organizationName", "2.5.4.11": "organizationalUnitName", "2.5.4.12": "title",
	"2.5.4.13": "description", "2.5.4.15": "businessCategory", "2.5.4.17": "postalCode", "2.5.4.41": "name",
	"2.5.4.42": "givenName", "2.5.4.43": "initials", "2.5.4.46": "dnQualifier", "2.5.4.65": "pseudonym",
	"2.5.4.97": "organizationIdentifier", "1.2.840.113549.1.9.1": "emailAddress", "0.9.2342.19200300.100.1.1": "userId",
	"0.9.2342.19200300.100.1.25": "domainComponent", "1.3.6.1.4.1.311.60.2.1.1": "jurisdictionLocalityName",
	"1.3.6.1.4.1.311.60.2.1.2": "jurisdictionStateOrProvinceName", "1.3.6.1.4.1.311.60.2.1.3": "jurisdictionCountryName",
}

// Describe reads one certificate in DER.
func Describe(der []byte) (*Description, error) {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &Error{Library: "X509", Reason: "ASN1_LIB", Text: strings.TrimPrefix(err.Error(), "x509: ")}
	}
	serial := fmt.Sprintf("%X", c.SerialNumber)
	if len(serial)%2 == 1 {
		serial = "0" + serial
	}
	d := &Description{
		Subject: readName(c.RawSubject), Issuer: readName(c.RawIssuer), Version: c.Version, Serial: serial,
		NotBefore: timeText(c.NotBefore), NotAfter: timeText(c.NotAfter),
		OCSP: c.OCSPServer, Issuers: c.IssuingCertificateURL, CRLs: c.CRLDistributionPoints,
	}
	for _, e := range c.Extensions {
		if e.Id.Equal(oidSAN) {
			d.AltNames = readAltNames(e.Value)
		}
	}
	return d, nil
}

func timeText(t time.Time) string { return t.UTC().Format("Jan _2 15:04:05 2006 GMT") }

func readName(der []byte) Name {
	var sets pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &sets); err != nil {
		return Name{}
	}
	name := Name{}
	for _, set := range sets {
		var pairs [][2]string
		for _, a := range set {
			id := a.Type.String()
			if long := longNames[id]; long != "" {
				id = long
			}
			pairs = append(pairs, [2]string{id, fmt.Sprint(a.Value)})
		}
		name = append(name, pairs)
	}
	return name
}

// readAltNames reads GeneralNames, RFC 5280, section 4.2.1.6.
func readAltNames(der []byte) (names [][2]any) {
	var all asn1.RawValue
	if _, err := asn1.Unmarshal(der, &all); err != nil {
		return nil
	}
	for rest := all.Bytes; len(rest) > 0; {
		var v asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &v); err != nil {
			return names
		}
		switch v.Tag {
		case 1:
			names = append(names, [2]any{"email", string(v.Bytes)})
		case 2:
			names = append(names, [2]any{"DNS", string(v.Bytes)})
		case 4:
			names = append(names, [2]any{"DirName", readName(v.Bytes)})
		case 6:
			names = append(names, [2]any{"URI", string(v.Bytes)})
		case 7:
			names = append(names, [2]any{"IP Address", addressText(v.Bytes)})
		case 8:
			names = append(names, [2]any{"Registered ID", identifierText(v.FullBytes)})
		default:
			names = append(names, [2]any{"othername", "<unsupported>"})
		}
	}
	return names
}

// addressText is as OpenSSL has it: no zeros of an IPv6 address are left out.
func addressText(b []byte) string {
	switch len(b) {
	case net.IPv4len:
		return net.IP(b).String()
	case net.IPv6len:
		var groups []string
		for i := 0; i < len(b); i += 2 {
			groups = append(groups, fmt.Sprintf("%X", binary.BigEndian.Uint16(b[i:])))
		}
		return strings.Join(groups, ":")
	}
	return "<invalid>"
}

// identifierText reads an object identifier with a tag of its own.
func identifierText(b []byte) string {
	var id asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(append([]byte{asn1.TagOID}, b[1:]...), &id); err != nil {
		return "<invalid>"
	}
	return id.String()
}
