package text

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// opensslDigests are the names that openssl prints for the digests that it is asked for.
var opensslDigests = map[string]string{"md5": "MD5", "sha1": "SHA1", "sha224": "SHA2-224", "sha256": "SHA2-256", "sha384": "SHA2-384", "sha512": "SHA2-512"}

// OpenSSL has the parts of openssl that scripts use for digests, random bytes, base64
// and files encrypted with a password. Other ciphers, keys and certificates are for Python's cryptography package.
func OpenSSL(c *command.Call) int {
	name, args := "", c.Args
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch {
	case name == "--help":
		c.Parse("")
		return 0
	case name == "version":
		c.Print("OpenSSL (dgst, enc, rand and base64 of coderunner)\n")
		return 0
	case name == "rand":
		return opensslRand(c, args)
	case name == "dgst":
		return opensslDigest(c, "sha256", args)
	case opensslDigests[name] != "":
		return opensslDigest(c, name, args)
	case name == "base64", name == "enc" && len(args) > 0 && (args[0] == "-base64" || args[0] == "-a"):
		return opensslBase64(c, args)
	case name == "enc":
		return opensslCipher(c, args)
	case strings.HasPrefix(name, "aes"):
		return opensslCipher(c, append([]string{"-" + name}, args...))
	}
	return c.Die(1, "only dgst, enc, rand and base64 are here; use Python's cryptography for %s", command.Quote(name))
}

// opensslOptions reads the options of a part of openssl, which have one dash. Those of spec
// with "=" have a value. What is no option is returned as well.
func opensslOptions(c *command.Call, spec string, args []string) (o map[string]string, rest []string) {
	o, known := map[string]string{}, strings.Fields(spec)
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		switch name := strings.TrimLeft(a, "-"); {
		case a == "-" || !strings.HasPrefix(a, "-"):
			rest = append(rest, a)
		case slices.Contains(known, name):
			o[name] = ""
		case slices.Contains(known, name+"=") && len(args) > 0:
			o[name], args = args[0], args[1:]
		default:
			c.Exit(1, "unknown option %s: of openssl only digests and AES by CBC or CTR with a password are here; use Python's cryptography", command.Quote(a))
		}
	}
	return o, rest
}

// given returns the first of the names that is among the options, "" without one.
func given(o map[string]string, names ...string) string {
	for _, name := range names {
		if _, ok := o[name]; ok {
			return name
		}
	}
	return ""
}

// lineWidth returns the width of lines of base64, of which -A makes one.
func lineWidth(o map[string]string) int {
	if given(o, "A") != "" {
		return 0
	}
	return 64
}

func opensslRand(c *command.Call, args []string) int {
	o, rest := opensslOptions(c, "hex base64", args)
	format, count := given(o, "hex", "base64"), -1
	if len(rest) > 0 {
		count = c.Int(rest[0], 0, math.MaxInt, "rand: invalid number of bytes: %s")
	}
	if count < 0 {
		return c.Die(1, "rand: the number of bytes is missing, as in openssl rand -hex 16")
	}
	w, end := io.Writer(c.Out), func() {}
	switch format {
	case "hex":
		w, end = hex.NewEncoder(c.Out), func() { c.Print("\n") }
	case "base64":
		w, end = encodings["base64"].lines(c, 64)
	}
	if _, err := io.CopyN(w, c.Guarded(rand.Reader), int64(count)); err != nil {
		return c.Die(1, "rand: %s", command.Text(err))
	}
	end()
	return 0
}

func opensslDigest(c *command.Call, kind string, args []string) int {
	o, names := opensslOptions(c, "hmac= r binary hex c md5 sha1 sha224 sha256 sha384 sha512", args)
	kind = cmp.Or(given(o, slices.Collect(maps.Keys(opensslDigests))...), kind)
	key, keyed := o["hmac"]
	c.Each(names, func(name string, r io.Reader) error {
		h, label := digests[kind+"sum"](), opensslDigests[kind]
		if keyed {
			h = hmac.New(func() hash.Hash { return digests[kind+"sum"]() }, []byte(key))
		}
		sum, err := digest(h, r)
		if name == "-" {
			name = "stdin"
		}
		switch {
		case err != nil:
		case given(o, "binary") != "":
			_, err = c.Out.Write(h.Sum(nil))
		case given(o, "r") != "":
			c.Printf("%s *%s\n", sum, name)
		default:
			c.Printf("%s(%s)= %s\n", label, name, sum)
		}
		return err
	})
	return c.Status
}

func opensslBase64(c *command.Call, args []string) int {
	o, _ := opensslOptions(c, "base64 a e d A in= out=", args)
	c.Out = c.Output(o["out"], 1, "")
	c.Each([]string{cmp.Or(o["in"], "-")}, func(_ string, r io.Reader) error {
		if given(o, "d") != "" {
			if _, err := io.Copy(c.Out, base64.NewDecoder(base64.StdEncoding, r)); err != nil {
				c.Fail("invalid base64")
			}
			return nil
		}
		w, end := encodings["base64"].lines(c, lineWidth(o))
		_, err := io.Copy(w, r)
		end()
		return err
	})
	return c.Status
}
