package text

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// baseEncoding is how a command of the base family writes bytes.
type baseEncoding struct {
	alphabet string // with the padding
	encode   func(io.Writer) io.WriteCloser
	decode   func(io.Reader) io.Reader
}

var encodings = map[string]baseEncoding{
	"base64":    base64s(base64.StdEncoding, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
	"base64url": base64s(base64.URLEncoding, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="),
	"base32":    base32s(base32.StdEncoding, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567="),
	"base32hex": base32s(base32.HexEncoding, "0123456789ABCDEFGHIJKLMNOPQRSTUV="),
	"base16": {
		alphabet: "0123456789ABCDEF",
		encode:   func(w io.Writer) io.WriteCloser { return upper{hex.NewEncoder(upperCase{w})} },
		decode:   func(r io.Reader) io.Reader { return hex.NewDecoder(&keeping{r, "0123456789ABCDEFabcdef"}) },
	},
}

func base64s(e *base64.Encoding, alphabet string) baseEncoding {
	return baseEncoding{alphabet,
		func(w io.Writer) io.WriteCloser { return base64.NewEncoder(e, w) },
		func(r io.Reader) io.Reader { return base64.NewDecoder(e, r) }}
}

func base32s(e *base32.Encoding, alphabet string) baseEncoding {
	return baseEncoding{alphabet,
		func(w io.Writer) io.WriteCloser { return base32.NewEncoder(e, w) },
		func(r io.Reader) io.Reader { return base32.NewDecoder(e, r) }}
}

// upper is an encoder that has nothing to close.
type upper struct{ io.Writer }

func (upper) Close() error { return nil }

// upperCase writes in capitals.
type upperCase struct{ w io.Writer }

func (u upperCase) Write(b []byte) (int, error) { return u.w.Write([]byte(strings.ToUpper(string(b)))) }

// Base is base64, base32 and basenc.
func Base(c *command.Call) int {
	spec, name := "d,decode D i,ignore-garbage w,wrap=", c.Name
	if name == "basenc" {
		spec += " base64 base64url base32 base32hex base16 !base2msbf !base2lsbf !z85"
	}
	o := c.Parse(spec, 0, 1)
	if c.Name == "basenc" {
		if name = o.Last("base64", "base64url", "base32", "base32hex", "base16"); name == "" {
			return c.Usage(1, "missing encoding type")
		}
	}
	wrap := c.Int(o.Value("w", "76"), 0, math.MaxInt, "invalid wrap size: %s")
	e := encodings[name]
	c.Each(o.Args, func(name string, r io.Reader) error {
		if o.On("d") || o.On("D") {
			if o.On("i") {
				r = &keeping{r, e.alphabet}
			}
			if _, err := io.Copy(c.Out, e.decode(r)); err != nil {
				if errors.Is(err, command.ErrStopped) {
					return err
				}
				c.Fail("invalid input")
			}
			return nil
		}
		w, end := e.lines(c, wrap)
		_, err := io.Copy(w, r)
		end()
		return err
	})
	return c.Status
}

// lines returns a writer of encoded lines of a width; 0 is one line without an end. end
// finishes them.
func (e baseEncoding) lines(c *command.Call, width int) (w io.Writer, end func()) {
	lines := &wrapper{w: c.Out, width: width}
	encoder := e.encode(lines)
	return encoder, func() {
		encoder.Close()
		if lines.column > 0 && width > 0 {
			c.Print("\n")
		}
	}
}

// keeping drops all bytes that are not in a set.
type keeping struct {
	r   io.Reader
	set string
}

func (k *keeping) Read(b []byte) (int, error) {
	n, err := k.r.Read(b)
	kept := 0
	for _, ch := range b[:n] {
		if strings.IndexByte(k.set, ch) >= 0 {
			b[kept] = ch
			kept++
		}
	}
	return kept, err
}

// wrapper breaks lines at a width.
type wrapper struct {
	w      io.Writer
	width  int
	column int
}

func (w *wrapper) Write(b []byte) (int, error) {
	total := len(b)
	for w.width > 0 && len(b) > 0 {
		n := min(len(b), w.width-w.column)
		if _, err := w.w.Write(b[:n]); err != nil {
			return 0, err
		}
		b = b[n:]
		if w.column += n; w.column == w.width {
			w.column = 0
			if _, err := fmt.Fprint(w.w, "\n"); err != nil {
				return 0, err
			}
		}
	}
	_, err := w.w.Write(b)
	return total, err
}
