package text

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"io"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// salted is what openssl's encrypted files begin with, before eight bytes of salt.
const salted = "Salted__"

// maxIterations bounds the derivation of a key, which nothing interrupts.
const maxIterations = 1_000_000

// enciphering is openssl enc: what its options say.
type enciphering struct {
	bits             int // of the key
	counter          bool
	decode, armored  bool
	oneLine, derived bool
	password         string
	iterations       int
	digest           func() hash.Hash
	in, out          string
}

// opensslCipher encrypts with a password, or decrypts: AES with CBC or CTR and a key
// that PBKDF2 derives.
func opensslCipher(c *command.Call, args []string) int {
	e := &enciphering{iterations: 10_000, digest: sha256.New, in: "-"}
	for len(args) > 0 {
		n := e.option(c, args[0], append(args[1:len(args):len(args)], "")[0])
		if n == 0 {
			return c.Die(1, "enc: only AES by CBC or CTR with a password is here; use Python's cryptography for %s", command.Quote(args[0]))
		}
		args = args[min(n, len(args)):]
	}
	switch {
	case e.bits == 0:
		return c.Die(1, "enc: name a cipher: -aes-256-cbc")
	case e.password == "":
		return c.Die(1, "enc: there is no terminal to ask for a password: write -pass pass:PASSWORD")
	case !e.derived:
		return c.Die(1, "enc: deprecated key derivation is not available in this sandbox: add -pbkdf2")
	}
	data, err := c.ReadAll(c.Input(e.in))
	c.Must(err)
	if e.out != "" {
		c.Out = c.Output(e.out, 1, "")
	}
	if e.decode {
		return e.decrypt(c, data)
	}
	return e.encrypt(c, data)
}

// option reads an option and returns how many arguments it took.
func (e *enciphering) option(c *command.Call, a, next string) int {
	a = strings.TrimLeft(a, "-")
	switch a {
	case "e", "salt", "p":
	case "d":
		e.decode = true
	case "a", "base64":
		e.armored = true
	case "A":
		e.oneLine = true
	case "pbkdf2":
		e.derived = true
	case "aes256":
		e.bits = 256
	case "aes128":
		e.bits = 128
	case "pass", "k":
		e.password = e.secret(c, a, next)
		return 2
	case "iter":
		e.iterations, e.derived = c.Int(next, 1, maxIterations, "enc: invalid number of iterations: %s"), true
		return 2
	case "md":
		digests := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}
		if e.digest = digests[next]; e.digest == nil {
			return 0
		}
		return 2
	case "in":
		e.in = next
		return 2
	case "out":
		e.out = next
		return 2
	default:
		size, mode, _ := strings.Cut(strings.TrimPrefix(a, "aes-"), "-")
		e.bits, _ = strconv.Atoi(size)
		e.counter = mode == "ctr"
		if !strings.HasPrefix(a, "aes-") || e.bits != 128 && e.bits != 192 && e.bits != 256 || mode != "cbc" && mode != "ctr" {
			return 0
		}
	}
	return 1
}

// secret returns the password that -pass or -k names.
func (e *enciphering) secret(c *command.Call, option, arg string) string {
	kind, value, _ := strings.Cut(arg, ":")
	switch {
	case option == "k":
		return arg
	case kind == "pass":
		return value
	case kind == "env":
		return c.Env(value)
	case kind == "file":
		data, err := c.ReadFile(value)
		c.Must(err)
		line, _, _ := bytes.Cut(data, []byte("\n"))
		return string(line)
	case arg == "stdin":
		line, _ := c.In().ReadString('\n')
		return strings.TrimSuffix(line, "\n")
	}
	return ""
}

// key returns the cipher of a salt, and its first block.
func (e *enciphering) key(c *command.Call, salt []byte) (cipher.Block, []byte) {
	size := e.bits / 8
	key, err := pbkdf2.Key(e.digest, e.password, salt, e.iterations, size+aes.BlockSize)
	c.Must(err)
	block, err := aes.NewCipher(key[:size])
	c.Must(err)
	return block, key[size:]
}

func (e *enciphering) encrypt(c *command.Call, data []byte) int {
	salt := make([]byte, 8)
	rand.Read(salt)
	block, iv := e.key(c, salt)
	c.Must(c.Reserve(int64(len(data)) + aes.BlockSize))
	out := append([]byte(nil), data...)
	if e.counter {
		cipher.NewCTR(block, iv).XORKeyStream(out, out)
	} else {
		pad := aes.BlockSize - len(out)%aes.BlockSize
		out = append(out, bytes.Repeat([]byte{byte(pad)}, pad)...)
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
	}
	w, end := io.Writer(c.Out), func() {}
	if e.armored {
		width := 64
		if e.oneLine {
			width = 0
		}
		w, end = opensslEncoder(c, width)
	}
	io.WriteString(w, salted)
	w.Write(salt)
	w.Write(out)
	end()
	return c.Status
}

func (e *enciphering) decrypt(c *command.Call, data []byte) int {
	if e.armored {
		var err error
		data, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, bufio.NewReader(bytes.NewReader(data))))
		if err != nil {
			return c.Die(1, "error reading input file")
		}
	}
	if len(data) < len(salted)+8 || string(data[:len(salted)]) != salted {
		return c.Die(1, "bad magic number")
	}
	block, iv := e.key(c, data[len(salted):len(salted)+8])
	data = data[len(salted)+8:]
	if e.counter {
		cipher.NewCTR(block, iv).XORKeyStream(data, data)
		c.Out.Write(data)
		return c.Status
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return c.Die(1, "bad decrypt: wrong final block length")
	}
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad == 0 || pad > aes.BlockSize || !bytes.Equal(data[len(data)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return c.Die(1, "bad decrypt: the password or the file is wrong")
	}
	c.Out.Write(data[:len(data)-pad])
	return c.Status
}
