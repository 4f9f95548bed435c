package text

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
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

func opensslRand(c *command.Call, args []string) int {
	format, count := "", -1
	for _, a := range args {
		if n, err := strconv.Atoi(a); err == nil && n >= 0 && count < 0 {
			count = n
		} else if format = strings.TrimLeft(a, "-"); format != "hex" && format != "base64" {
			return c.Die(1, "rand: unknown option %s", command.Quote(a))
		}
	}
	if count < 0 {
		return c.Die(1, "rand: the number of bytes is missing, as in openssl rand -hex 16")
	}
	w, end := io.Writer(c.Out), func() {}
	switch format {
	case "hex":
		w, end = hex.NewEncoder(c.Out), func() { c.Print("\n") }
	case "base64":
		w, end = opensslEncoder(c, 64)
	}
	if _, err := io.CopyN(w, c.Guarded(rand.Reader), int64(count)); err != nil {
		return c.Die(1, "rand: %s", command.Text(err))
	}
	end()
	return 0
}

// opensslEncoder encodes base64 in lines of a width; 0 is one line without an end.
func opensslEncoder(c *command.Call, width int) (io.Writer, func()) {
	lines := &wrapper{w: c.Out, width: width}
	w := base64.NewEncoder(base64.StdEncoding, lines)
	return w, func() {
		w.Close()
		if lines.column > 0 && width > 0 {
			c.Print("\n")
		}
	}
}

func opensslDigest(c *command.Call, kind string, args []string) int {
	var key *string
	var names []string
	coreutils, binary := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch option := strings.TrimLeft(a, "-"); {
		case a == "-" || !strings.HasPrefix(a, "-"):
			names = append(names, a)
		case opensslDigests[option] != "":
			kind = option
		case option == "hmac" && i+1 < len(args):
			i++
			key = &args[i]
		case option == "r":
			coreutils = true
		case option == "binary":
			binary = true
		case option != "hex" && option != "c":
			return c.Die(1, "dgst: unknown option %s", command.Quote(a))
		}
	}
	c.Each(names, func(name string, r io.Reader) error {
		h, label := digests[kind+"sum"](), opensslDigests[kind]
		if key != nil {
			h = hmac.New(func() hash.Hash { return digests[kind+"sum"]() }, []byte(*key))
		}
		sum, err := digest(h, r)
		if name == "-" {
			name = "stdin"
		}
		switch {
		case err != nil:
		case binary:
			_, err = c.Out.Write(h.Sum(nil))
		case coreutils:
			c.Printf("%s *%s\n", sum, name)
		default:
			c.Printf("%s(%s)= %s\n", label, name, sum)
		}
		return err
	})
	return c.Status
}

func opensslBase64(c *command.Call, args []string) int {
	decode, width, in, out := false, 64, "-", ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-base64" || a == "-a" || a == "-e":
		case a == "-d":
			decode = true
		case a == "-A":
			width = 0
		case a == "-in" && i+1 < len(args):
			i++
			in = args[i]
		case a == "-out" && i+1 < len(args):
			i++
			out = args[i]
		default:
			return c.Die(1, "base64: unknown option %s", command.Quote(a))
		}
	}
	if out != "" {
		c.Out = c.Output(out, 1, "")
	}
	c.Each([]string{in}, func(_ string, r io.Reader) error {
		if decode {
			if _, err := io.Copy(c.Out, base64.NewDecoder(base64.StdEncoding, r)); err != nil {
				c.Fail("invalid base64")
			}
			return nil
		}
		w, end := opensslEncoder(c, width)
		_, err := io.Copy(w, r)
		end()
		return err
	})
	return c.Status
}
