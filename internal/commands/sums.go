package commands

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

var digests = map[string]func() hash.Hash{
	"md5sum": md5.New, "sha1sum": sha1.New, "sha224sum": sha256.New224, "sha256sum": sha256.New,
	"sha384sum": sha512.New384, "sha512sum": sha512.New,
}

// digest is md5sum and its relatives.
func digest(c *call) int {
	o, status := c.options("b,binary t,text c,check tag z,zero ignore-missing quiet status strict w,warn")
	if o == nil {
		return status
	}
	if o.on("c") {
		return digestCheck(c, o)
	}
	c.each(o.args, func(name string, r io.Reader) error {
		sum, err := c.sum(r)
		if err != nil {
			return err
		}
		mark, escape, shown := " ", "", name
		if o.last("b", "t") == "b" {
			mark = "*"
		}
		if !o.on("z") && strings.ContainsAny(name, "\\\n") {
			escape, shown = `\`, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(name)
		}
		if o.on("tag") {
			c.printf("%s%s (%s) = %s%c", escape, strings.ToUpper(strings.TrimSuffix(c.name, "sum")), shown, sum, lineEnd(o.on("z")))
		} else {
			c.printf("%s%s %s%s%c", escape, sum, mark, shown, lineEnd(o.on("z")))
		}
		return nil
	})
	return c.status
}

func (c *call) sum(r io.Reader) (string, error) {
	h := digests[c.name]()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

func digestCheck(c *call, o *options) int {
	kind := strings.ToUpper(strings.TrimSuffix(c.name, "sum"))
	c.each(o.args, func(list string, r io.Reader) error {
		good, bad, missing, malformed := 0, 0, 0, 0
		l := c.lines(r, '\n')
		for line, ok := l.next(); ok; line, ok = l.next() {
			sum, name, valid := digestLine(string(line), kind, digests[c.name]().Size())
			if !valid {
				malformed++
				continue
			}
			good++
			f, err := c.open(name)
			got := ""
			if err == nil {
				got, err = c.sum(f)
				f.Close()
			}
			switch {
			case err != nil && o.on("ignore-missing"):
			case err != nil:
				missing++
				c.errorf("%s: %s", name, text(err))
				if !o.on("status") {
					c.printf("%s: FAILED open or read\n", name)
				}
			case !strings.EqualFold(got, sum):
				bad++
				if !o.on("status") {
					c.printf("%s: FAILED\n", name)
				}
			case !o.on("status") && !o.on("quiet"):
				c.printf("%s: OK\n", name)
			}
		}
		if list == "-" {
			list = "'standard input'"
		}
		if good == 0 {
			c.fail("%s: no properly formatted checksum lines found", list)
			return nil
		}
		c.digestSummary(o, malformed, "WARNING: %d line%s improperly formatted", "is", "are")
		c.digestSummary(o, missing, "WARNING: %d listed file%s could not be read", "", "")
		c.digestSummary(o, bad, "WARNING: %d computed checksum%s did NOT match", "", "")
		if bad+missing > 0 || malformed > 0 && o.on("strict") {
			c.status = 1
		}
		return l.err
	})
	return c.status
}

func (c *call) digestSummary(o *options, n int, format, one, many string) {
	if n == 0 || o.on("status") {
		return
	}
	plural, verb := "", one
	if n > 1 {
		plural, verb = "s", many
	}
	if verb != "" {
		plural += " " + verb
	}
	c.errorf(format, n, plural)
}

// digestLine reads a line of a list of checksums, in either form.
func digestLine(line, kind string, size int) (sum, name string, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	if rest, tagged := strings.CutPrefix(line, kind+" ("); tagged {
		if at := strings.LastIndex(rest, ") = "); at >= 0 {
			name, sum = rest[:at], rest[at+4:]
		}
	} else {
		line = strings.TrimPrefix(line, `\`)
		if len(line) < 2*size+3 || line[2*size] != ' ' {
			return "", "", false
		}
		sum, name = line[:2*size], line[2*size+2:]
	}
	_, err := hex.DecodeString(sum)
	return sum, name, err == nil && len(sum) == 2*size
}

// cksum is the CRC of POSIX, or another algorithm with -a.
func cksum(c *call) int {
	o, status := c.options("a,algorithm= untagged tag")
	if o == nil {
		return status
	}
	algorithm := o.value("a", "crc")
	if algorithm != "crc" {
		if digests[algorithm+"sum"] == nil {
			return c.usage(1, "invalid argument %s for '--algorithm'", quote(algorithm))
		}
		c.name = algorithm + "sum"
		c.args = append([]string{"--tag", "--"}, o.args...)
		if o.on("untagged") {
			c.args = append([]string{"--"}, o.args...)
		}
		return digest(c)
	}
	var table [256]uint32
	for i := range table {
		v := uint32(i) << 24
		for range 8 {
			v = v<<1 ^ 0x04c11db7*(v>>31)
		}
		table[i] = v
	}
	c.each(o.args, func(name string, r io.Reader) error {
		crc, size := uint32(0), int64(0)
		buf := make([]byte, copySize)
		for {
			n, err := r.Read(buf)
			for _, b := range buf[:n] {
				crc = crc<<8 ^ table[byte(crc>>24)^b]
			}
			size += int64(n)
			if err != nil && err != io.EOF {
				return err
			}
			if err == io.EOF {
				break
			}
		}
		for n := size; n > 0; n >>= 8 {
			crc = crc<<8 ^ table[byte(crc>>24)^byte(n)]
		}
		c.printf("%d %d", ^crc, size)
		if len(o.args) > 0 {
			c.print(" " + name)
		}
		c.print("\n")
		return nil
	})
	return c.status
}

// baseEncoding is base64 and base32.
func baseEncoding(c *call) int {
	o, status := c.options("d,decode D i,ignore-garbage w,wrap=")
	if o == nil {
		return status
	}
	wrap, ok := atoi(o.value("w", "76"))
	if !ok || wrap < 0 {
		return c.die(1, "invalid wrap size: %s", quote(o.value("w", "")))
	}
	if len(o.args) > 1 {
		return c.extra(o.args[1])
	}
	encode := func(w io.Writer) io.WriteCloser { return base64.NewEncoder(base64.StdEncoding, w) }
	decode := func(r io.Reader) io.Reader { return base64.NewDecoder(base64.StdEncoding, r) }
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	if c.name == "base32" {
		encode = func(w io.Writer) io.WriteCloser { return base32.NewEncoder(base32.StdEncoding, w) }
		decode = func(r io.Reader) io.Reader { return base32.NewDecoder(base32.StdEncoding, r) }
		alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567="
	}
	c.each(o.args, func(name string, r io.Reader) error {
		if o.on("d") || o.on("D") {
			if o.on("i") {
				r = &keeping{r, alphabet}
			}
			if _, err := io.Copy(c.out, decode(r)); err != nil {
				if errors.Is(err, errStopped) {
					return err
				}
				c.fail("invalid input")
			}
			return nil
		}
		w := &wrapper{w: c.out, width: wrap}
		enc := encode(w)
		_, err := io.Copy(enc, r)
		enc.Close()
		if w.column > 0 && wrap > 0 {
			c.print("\n")
		}
		return err
	})
	return c.status
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
