package tlsbio

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
	"strings"
)

// maxIterations bounds the work for the password of a key.
const maxIterations = 300_000

var (
	errPEM      = &Error{Library: "SSL", Text: "PEM lib"}
	errPassword = &Error{Library: "SSL", Reason: "BAD_DECRYPT", Text: "PEM lib: bad decrypt, or no password"}
)

// AddChain keeps a chain of certificates and the key of the first, in PEM, which
// may be encrypted. It returns both in PEM without encryption: the digest of that
// is their key in the store.
func (s *Store) AddChain(chain, key, password []byte) ([]byte, error) {
	var out bytes.Buffer
	size := 0
	for rest := chain; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" {
			size += len(block.Bytes)
			pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes})
		}
	}
	if out.Len() == 0 {
		return nil, errPEM
	}
	certs := out.Len()
	if err := decryptKey(&out, key, password); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(out.Bytes()[:certs], out.Bytes()[certs:])
	if err != nil {
		switch text := err.Error(); {
		case strings.Contains(text, "does not match"):
			return nil, &Error{Library: "X509", Reason: "KEY_VALUES_MISMATCH", Text: "key values mismatch"}
		default:
			return nil, &Error{Library: "SSL", Text: "PEM lib: " + strings.TrimPrefix(strings.TrimPrefix(text, "tls: "), "x509: ")}
		}
	}
	it := &item{key: digest(out.Bytes()), chain: &pair, size: certMemory * int64(size+len(key))}
	return out.Bytes(), s.put(it)
}

// decryptKey appends the first key in PEM to out.
func decryptKey(out *bytes.Buffer, text, password []byte) error {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return errPEM
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		var err error
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY":
			block.Type = "PRIVATE KEY"
			block.Bytes, err = decryptPKCS8(block.Bytes, password)
		//lint:ignore SA1019 what OpenSSL once wrote is still in use
		case x509.IsEncryptedPEMBlock(block):
			//lint:ignore SA1019 as above
			block.Bytes, err = x509.DecryptPEMBlock(block, password)
			block.Headers = nil
		}
		if err != nil {
			return errPassword
		}
		return pem.Encode(out, block)
	}
}

// Structures of RFC 8018, appendix A.
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2 struct{ KDF, Cipher pkix.AlgorithmIdentifier }
	kdf   struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

var prfs = map[string]func() hash.Hash{
	"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New,
	"1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
}

var blockCiphers = map[string]struct {
	key int
	new func([]byte) (cipher.Block, error)
}{
	"2.16.840.1.101.3.4.1.2": {16, aes.NewCipher}, "2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher}, "1.2.840.113549.3.7": {24, des.NewTripleDESCipher},
}

// decryptPKCS8 decrypts a key by PBES2 with PBKDF2, as OpenSSL writes them.
func decryptPKCS8(der, password []byte) ([]byte, error) {
	bad := errors.New("not a key that can be decrypted")
	var e encryptedKey
	var p pbes2
	var k kdf
	var iv []byte
	for _, part := range []struct {
		from func() []byte
		to   any
	}{
		{func() []byte { return der }, &e},
		{func() []byte { return e.Algorithm.Parameters.FullBytes }, &p},
		{func() []byte { return p.KDF.Parameters.FullBytes }, &k},
		{func() []byte { return p.Cipher.Parameters.FullBytes }, &iv},
	} {
		if rest, err := asn1.Unmarshal(part.from(), part.to); err != nil || len(rest) > 0 {
			return nil, bad
		}
	}
	prf, known := prfs[k.PRF.Algorithm.String()]
	c, supported := blockCiphers[p.Cipher.Algorithm.String()]
	if e.Algorithm.Algorithm.String() != oidPBES2 || p.KDF.Algorithm.String() != oidPBKDF2 ||
		!known || !supported || k.Iterations < 1 || k.Iterations > maxIterations {
		return nil, bad
	}
	key, err := pbkdf2.Key(prf, string(password), k.Salt, k.Iterations, c.key)
	if err != nil {
		return nil, err
	}
	block, err := c.new(key)
	if err != nil {
		return nil, err
	}
	n := len(e.Data)
	if len(iv) != block.BlockSize() || n == 0 || n%block.BlockSize() != 0 {
		return nil, bad
	}
	plain := make([]byte, n)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, e.Data)
	pad := int(plain[n-1])
	if pad == 0 || pad > block.BlockSize() || !bytes.Equal(plain[n-pad:], bytes.Repeat(plain[n-1:], pad)) {
		return nil, bad
	}
	return plain[:n-pad], nil
}
