package text

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// salted is what openssl's encrypted files begin with, before eight bytes of salt.
const salted = "Salted__"

// maxIterations bounds the derivation of a key, which nothing interrupts.
const maxIterations = 1_000_000

// opensslCiphers are the options that name a cipher, with the bits of its key.
var opensslCiphers = map[string]int{
	"aes-128-cbc": 128, "aes-192-cbc": 192, "aes-256-cbc": 256, "aes-128-ctr": 128, "aes-192-ctr": 192, "aes-256-ctr": 256, "aes128": 128, "aes256": 256,
}

// enciphering is openssl enc: what its options say.
type enciphering struct {
	bits       int // of the key
	counter    bool
	armored    bool
	width      int // of its lines
	password   string
	iterations int
	digest     func() hash.Hash
}

// opensslCipher encrypts with a password, or decrypts: AES with CBC or CTR and a key
// that PBKDF2 derives.
func opensslCipher(c *command.Call, args []string) int {
	ciphers := slices.Sorted(maps.Keys(opensslCiphers))
	o, _ := opensslOptions(c, "e d a base64 A salt p pbkdf2 pass= k= iter= md= in= out= "+strings.Join(ciphers, " "), args)
	name := given(o, ciphers...)
	e := &enciphering{
		bits: opensslCiphers[name], counter: strings.HasSuffix(name, "-ctr"), armored: given(o, "a", "base64") != "", width: lineWidth(o),
		iterations: c.Int(cmp.Or(o["iter"], "10000"), 1, maxIterations, "enc: invalid number of iterations: %s"),
		digest:     map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}[cmp.Or(o["md"], "sha256")],
	}
	if option := given(o, "pass", "k"); option != "" {
		e.password = secret(c, option, o[option])
	}
	switch {
	case e.bits == 0:
		return c.Die(1, "enc: name a cipher: -aes-256-cbc")
	case e.digest == nil:
		return c.Die(1, "enc: only the digests sha256 and sha512 are here; use Python's cryptography for %s", command.Quote(o["md"]))
	case e.password == "":
		return c.Die(1, "enc: there is no terminal to ask for a password: write -pass pass:PASSWORD")
	case given(o, "pbkdf2", "iter") == "":
		return c.Die(1, "enc: deprecated key derivation is not available in this sandbox: add -pbkdf2")
	}
	data, err := c.ReadAll(c.Input(cmp.Or(o["in"], "-")))
	c.Must(err)
	c.Out = c.Output(o["out"], 1, "")
	if given(o, "d") != "" {
		return e.decrypt(c, data)
	}
	return e.encrypt(c, data)
}

// secret returns the password that -pass or -k names.
func secret(c *command.Call, option, arg string) string {
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
		w, end = encodings["base64"].lines(c, e.width)
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
