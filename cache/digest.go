package cache

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync"
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
		d := Digest{Algorithm: algorithm}
		if !ok || d.NewHash() == nil {
			continue
		}
		value, _, _ = strings.Cut(value, "?") // options, which nobody has defined
		sum, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return Digest{}, fmt.Errorf("parse integrity %q: %w", field, err)
		}
		d.Hex = hex.EncodeToString(sum)
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
	h := d.NewHash()
	if h == nil {
		return fmt.Errorf("digest %q: the algorithm is not sha256 or sha512", d.String())
	}
	if b, err := hex.DecodeString(d.Hex); err != nil || len(b) != h.Size() || d.Hex != strings.ToLower(d.Hex) {
		return fmt.Errorf("digest %q: want %d lower-case hexadecimal digits", d.String(), 2*h.Size())
	}
	return nil
}

// NewHash returns a hash of d's algorithm, or nil if it is not supported.
func (d Digest) NewHash() hash.Hash {
	switch d.Algorithm {
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// Sum returns the digest of the bytes written to h, which must be of d's algorithm.
func (d Digest) Sum(h hash.Hash) Digest {
	return Digest{d.Algorithm, hex.EncodeToString(h.Sum(nil))}
}

// digestFile returns the digest of the file at path.
func digestFile(algorithm, path string) (Digest, error) {
	d := Digest{Algorithm: algorithm}
	h := d.NewHash()
	_, err := hashFile(path, h)
	return d.Sum(h), err
}

// buffers are hashFile's: entries have thousands of small files.
var buffers sync.Pool

// hashFile writes the file at path to the hashes and returns its size.
func hashFile(path string, hashes ...io.Writer) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, NewStorageError("open", path, err)
	}
	defer f.Close()
	buffer, _ := buffers.Get().(*[256 << 10]byte)
	if buffer == nil {
		buffer = new([256 << 10]byte)
	}
	defer buffers.Put(buffer)
	// The reader's other methods would not use the buffer.
	n, err := io.CopyBuffer(io.MultiWriter(hashes...), struct{ io.Reader }{f}, buffer[:])
	return n, NewStorageError("read", path, err)
}

// Summed returns a text as files have it whose first line is the digest of the rest: a torn
// write and a flipped bit are noticed by [ReadSummed].
func Summed(text []byte) []byte { return append([]byte(sumLine(text)+"\n"), text...) }

func sumLine(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

// ReadSummed returns the text of a file of at most limit bytes that [Summed] has made.
func ReadSummed(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: more than %d bytes", name, limit)
	}
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	if string(sum) != sumLine(text) {
		return nil, fmt.Errorf("read %s: %w", name, errDamaged)
	}
	return text, nil
}
