package hashlib

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/pbkdf2"
	"golang.org/x/crypto/scrypt"
)

// TestDigest has what the algorithms' authors or OpenSSL say of some texts.
func TestDigest(t *testing.T) {
	abcd16 := bytes.Repeat([]byte("abcd"), 16)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"sm3", []byte("abc"), "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"},
		{"sm3", abcd16, "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732"},
		{"sm3", nil, "1ab21d8355cfa17f8e61194831e81a8f22bec8c728fefb747ed035eb5082aa2b"},
		{"ripemd160", []byte("abc"), "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
		{"sha512_256", []byte("abc"), "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"},
		{"sha512_224", []byte("abc"), "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"},
	} {
		if got, err := Digest(c.name, nil, c.data); hex.EncodeToString(got) != c.want {
			t.Errorf("Digest(%s, %q) = %x, %v, want %s", c.name, c.data, got, err, c.want)
		}
	}
	if _, err := Digest("sha257", nil, nil); err == nil {
		t.Error("sha257 is a hash")
	}
}

// TestUpdate feeds random pieces through states.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for name := range algorithms {
		want, _ := Digest(name, nil, data)
		var state []byte
		var err error
		for rest := data; len(rest) > 0 && err == nil; {
			n := 1 + r.IntN(len(rest))
			state, err = Update(name, state, rest[:n])
			rest = rest[n:]
		}
		if !resumable[name] {
			if err == nil {
				t.Errorf("%s has a state", name)
			}
			continue
		}
		if got, err2 := Digest(name, state, nil); !bytes.Equal(got, want) {
			t.Errorf("%s in pieces is %x, %v, %v, want %x", name, got, err, err2, want)
		}
	}
}

// TestHostileState gives states that no hash returned.
func TestHostileState(t *testing.T) {
	for name := range resumable {
		state, _ := Update(name, nil, []byte("x"))
		for i := range state {
			for _, b := range []byte{0, 0x7f, 0xff} {
				bad := bytes.Clone(state)
				bad[i] = b
				Digest(name, bad, []byte("more")) // refused or another hash's; it must not panic
			}
			if _, err := Digest(name, state[:i], nil); err == nil && i > 0 {
				t.Errorf("%s takes %d bytes of its state of %d", name, i, len(state))
			}
		}
	}
}

// pbkdf2All is what the guest's loop does.
func pbkdf2All(t *testing.T, name string, password, salt []byte, iterations, size, piece int) []byte {
	t.Helper()
	var key []byte
	for index := uint32(1); len(key) < size; index++ {
		var u, sum []byte
		for left := iterations; left > 0; {
			var n int
			var err error
			if u, sum, n, err = PBKDF2(name, password, salt, index, u, sum, min(left, piece)); err != nil || n <= 0 {
				t.Fatalf("PBKDF2: %d, %v", n, err)
			}
			left -= n
		}
		key = append(key, sum...)
	}
	return key[:size]
}

func TestPBKDF2(t *testing.T) {
	for name, h := range algorithms {
		want := pbkdf2.Key([]byte("password"), []byte("salt"), 1000, 100, h)
		for _, piece := range []int{1, 7, 1000, 1 << 30} {
			if got := pbkdf2All(t, name, []byte("password"), []byte("salt"), 1000, 100, piece); !bytes.Equal(got, want) {
				t.Errorf("PBKDF2 with %s, %d at once, is %x, want %x", name, piece, got, want)
			}
		}
	}
	if _, _, n, err := PBKDF2("sha256", nil, nil, 1, nil, nil, 1<<40); n != maxRounds || err != nil {
		t.Errorf("PBKDF2 did %d iterations, %v, want %d", n, err, maxRounds)
	}
	for _, u := range [][]byte{{1}, make([]byte, 31), make([]byte, 33), make([]byte, 1<<20)} {
		if _, _, _, err := PBKDF2("sha256", nil, nil, 1, u, u, 1); err == nil {
			t.Errorf("PBKDF2 goes on from %d bytes", len(u))
		}
	}
	if _, _, _, err := PBKDF2("sha256", nil, nil, 1, make([]byte, 32), nil, 1); err == nil {
		t.Error("PBKDF2 goes on without a sum")
	}
}

// scryptAll is what the guest's scrypt does.
func scryptAll(t *testing.T, password, salt []byte, n, r, p, size int) []byte {
	t.Helper()
	b := pbkdf2All(t, "sha256", password, salt, 1, p*128*r, 1)
	for i := range p {
		if err := ROMix(t.Context(), b[i*128*r:][:128*r], n); err != nil {
			t.Fatal(err)
		}
	}
	return pbkdf2All(t, "sha256", password, b, 1, size, 1)
}

func TestROMix(t *testing.T) {
	for _, c := range [][3]int{{2, 1, 1}, {16, 1, 1}, {1024, 8, 3}, {64, 3, 2}, {4096, 5, 1}} {
		n, r, p := c[0], c[1], c[2]
		want, err := scrypt.Key([]byte("pass"), []byte("NaCl"), n, r, p, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := scryptAll(t, []byte("pass"), []byte("NaCl"), n, r, p, 64); !bytes.Equal(got, want) {
			t.Errorf("scrypt with n=%d r=%d p=%d is %x, want %x", n, r, p, got, want)
		}
	}
	for _, c := range [][2]int{{0, 2}, {127, 2}, {128, 0}, {128, 1}, {128, 3}, {128, -2}} {
		if err := ROMix(t.Context(), make([]byte, c[0]), c[1]); err == nil {
			t.Errorf("ROMix takes a block of %d bytes and n of %d", c[0], c[1])
		}
	}
}

func TestROMixCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := ROMix(ctx, make([]byte, 1024), 1<<16); !errors.Is(err, cause) {
		t.Errorf("ROMix under a context that has ended: %v", err)
	}
}

func TestBcrypt(t *testing.T) {
	// bcrypt's own base 64 has its own order and no padding.
	encoding := base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)
	for _, password := range []string{"", "x", "naïve\x00", strings.Repeat("a", 72)} {
		made, err := bcrypt.GenerateFromPassword([]byte(password), 4)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := bytes.Cut(made, []byte("$04$"))
		salt, err := encoding.DecodeString(string(text[:22]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Bcrypt(t.Context(), []byte(password), salt, 4)
		if want := string(text[22:]); err != nil || encoding.EncodeToString(got) != want {
			t.Errorf("the hash of %q is %s, want %s (%v)", password, encoding.EncodeToString(got), want, err)
		}
	}
	for _, c := range [][2]int{{15, 4}, {16, 3}, {16, 32}} {
		if _, err := Bcrypt(t.Context(), nil, make([]byte, c[0]), c[1]); err == nil {
			t.Errorf("Bcrypt takes a salt of %d bytes and a cost of %d", c[0], c[1])
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := Bcrypt(ctx, nil, make([]byte, 16), 31); !errors.Is(err, cause) {
		t.Errorf("Bcrypt under a context that has ended: %v", err)
	}
}

func BenchmarkROMix(b *testing.B) {
	for b.Loop() {
		if err := ROMix(b.Context(), make([]byte, 1024), 1<<14); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScrypt(b *testing.B) {
	for b.Loop() {
		if _, err := scrypt.Key(nil, nil, 1<<14, 8, 1, 64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPBKDF2(b *testing.B) {
	for b.Loop() {
		if _, _, _, err := PBKDF2("sha256", nil, nil, 1, nil, nil, maxRounds); err != nil {
			b.Fatal(err)
		}
	}
}
