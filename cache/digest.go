package cache

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// Digest is a SHA-256 or SHA-512 digest.
type Digest struct {
	Algorithm string // "sha256" or "sha512"
	Hex       string // lower case
}

// SHA256 returns the SHA-256 digest with the given hexadecimal digits.
func SHA256(hexDigits string) Digest {
	return Digest{"sha256", strings.ToLower(hexDigits)}
}

// ParseDigest parses an npm integrity string, "sha512-" and base64. Of several,
// separated by spaces, it returns the strongest. SHA-1 and MD5 are refused.
func ParseDigest(integrity string) (Digest, error) {
	var best Digest
	for _, field := range strings.Fields(integrity) {
		algorithm, value, ok := strings.Cut(field, "-")
		if !ok || newHash(algorithm) == nil {
			continue
		}
		value, _, _ = strings.Cut(value, "?") // options, which nobody has defined
		sum, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return Digest{}, fmt.Errorf("parse integrity %q: %w", field, err)
		}
		d := Digest{algorithm, hex.EncodeToString(sum)}
		if err := d.Check(); err != nil {
			return Digest{}, err
		}
		if best.Algorithm == "" || algorithm == "sha512" {
			best = d
		}
	}
	if best.Algorithm == "" {
		return Digest{}, fmt.Errorf("parse integrity %q: no sha256 or sha512 in it", integrity)
	}
	return best, nil
}

func (d Digest) String() string { return d.Algorithm + ":" + d.Hex }

// Check returns an error if d is not well-formed.
func (d Digest) Check() error {
	h := newHash(d.Algorithm)
	if h == nil {
		return fmt.Errorf("digest %q: the algorithm is not sha256 or sha512", d.String())
	}
	if b, err := hex.DecodeString(d.Hex); err != nil || len(b) != h.Size() || d.Hex != strings.ToLower(d.Hex) {
		return fmt.Errorf("digest %q: want %d lower-case hexadecimal digits", d.String(), 2*h.Size())
	}
	return nil
}

// newHash returns nil for an unsupported algorithm.
func newHash(algorithm string) hash.Hash {
	switch algorithm {
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// NewHash returns a hash of d's algorithm, or nil if it is not supported.
func (d Digest) NewHash() hash.Hash { return newHash(d.Algorithm) }

// Sum returns the digest of the bytes written to h, which must be of d's algorithm.
func (d Digest) Sum(h hash.Hash) Digest { return sumOf(d.Algorithm, h) }

func sumOf(algorithm string, h hash.Hash) Digest {
	return Digest{algorithm, hex.EncodeToString(h.Sum(nil))}
}

// digestFile returns the digest of the file at path.
func digestFile(algorithm, path string) (Digest, error) {
	h := newHash(algorithm)
	_, err := hashFile(path, h)
	return sumOf(algorithm, h), err
}

// hashFile writes the file at path to the hashes and returns its size.
func hashFile(path string, hashes ...io.Writer) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, NewStorageError("open", path, err)
	}
	defer f.Close()
	// The reader's other methods would not use the buffer.
	n, err := io.CopyBuffer(io.MultiWriter(hashes...), struct{ io.Reader }{f}, make([]byte, 256<<10))
	return n, NewStorageError("read", path, err)
}
