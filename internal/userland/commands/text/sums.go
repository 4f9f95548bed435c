package text

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"

	"golang.org/x/crypto/blake2b"

	"coderunner/internal/userland/commands/command"
)

var digests = map[string]func() hash.Hash{
	"md5sum": md5.New, "sha1sum": sha1.New, "sha224sum": sha256.New224, "sha256sum": sha256.New,
	"sha384sum": sha512.New384, "sha512sum": sha512.New, "b2sum": func() hash.Hash { return blake2(blake2b.Size) },
}

func blake2(size int) hash.Hash {
	h, _ := blake2b.New(size, nil) // fails for sizes that are not 1 to 64
	return h
}

// Digest is md5sum and its relatives.
func Digest(c *command.Call) int {
	spec := "b,binary t,text c,check tag z,zero ignore-missing quiet status strict w,warn"
	if c.Name == "b2sum" {
		spec += " l,length="
	}
	return digestFiles(c, c.Parse(spec))
}

// digestFiles prints or checks the digests of files, by the options of the command that
// has the digest's name.
func digestFiles(c *command.Call, o *command.Options) int {
	h, kind := digests[c.Name], strings.ToUpper(strings.TrimSuffix(c.Name, "sum"))
	if c.Name == "b2sum" {
		kind = "BLAKE2b"
	}
	if bits := c.Int(o.Value("l", "0"), 0, 8*blake2b.Size, "invalid length: %s"); bits%8 != 0 {
		c.Errorf("invalid length: %s", command.Quote(o.Value("l", "")))
		return c.Die(1, "length is not a multiple of 8")
	} else if bits > 0 && bits < 8*blake2b.Size {
		h, kind = func() hash.Hash { return blake2(bits / 8) }, fmt.Sprintf("%s-%d", kind, bits)
	}
	if o.On("c") {
		return digestCheck(c, o, h, kind)
	}
	c.Each(o.Args, func(name string, r io.Reader) error {
		sum, err := digest(h(), r)
		if err != nil {
			return err
		}
		mark, escape, shown := " ", "", name
		if o.Last("b", "t") == "b" {
			mark = "*"
		}
		if !o.On("z") && strings.ContainsAny(name, "\\\n") {
			escape, shown = `\`, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(name)
		}
		if o.On("tag") {
			c.Printf("%s%s (%s) = %s%c", escape, kind, shown, sum, command.LineEnd(o.On("z")))
		} else {
			c.Printf("%s%s %s%s%c", escape, sum, mark, shown, command.LineEnd(o.On("z")))
		}
		return nil
	})
	return c.Status
}

func digest(h hash.Hash, r io.Reader) (string, error) {
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

func digestCheck(c *command.Call, o *command.Options, h func() hash.Hash, kind string) int {
	c.Each(o.Args, func(list string, r io.Reader) error {
		good, bad, missing, malformed := 0, 0, 0, 0
		l := c.Lines(r, '\n')
		for line := range l.All() {
			sum, name, valid := digestLine(string(line), kind, h().Size())
			if !valid {
				malformed++
				continue
			}
			good++
			f, err := c.Open(name)
			got := ""
			if err == nil {
				got, err = digest(h(), f)
				f.Close()
			}
			switch {
			case err != nil && o.On("ignore-missing"):
			case err != nil:
				missing++
				c.Errorf("%s: %s", name, command.Text(err))
				if !o.On("status") {
					c.Printf("%s: FAILED open or read\n", name)
				}
			case !strings.EqualFold(got, sum):
				bad++
				if !o.On("status") {
					c.Printf("%s: FAILED\n", name)
				}
			case !o.On("status") && !o.On("quiet"):
				c.Printf("%s: OK\n", name)
			}
		}
		if list == "-" {
			list = "'standard input'"
		}
		if good == 0 {
			c.Fail("%s: no properly formatted checksum lines found", list)
			return nil
		}
		digestSummary(c, o, malformed, "WARNING: %d line%s improperly formatted", "is", "are")
		digestSummary(c, o, missing, "WARNING: %d listed file%s could not be read", "", "")
		digestSummary(c, o, bad, "WARNING: %d computed checksum%s did NOT match", "", "")
		if bad+missing > 0 || malformed > 0 && o.On("strict") {
			c.Status = 1
		}
		return l.Err
	})
	return c.Status
}

func digestSummary(c *command.Call, o *command.Options, n int, format, one, many string) {
	if n == 0 || o.On("status") {
		return
	}
	plural, verb := "", one
	if n > 1 {
		plural, verb = "s", many
	}
	if verb != "" {
		plural += " " + verb
	}
	c.Errorf(format, n, plural)
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
		if len(line) < 2*size+2 || line[2*size] != ' ' {
			return "", "", false
		}
		sum, name = line[:2*size], line[2*size+1:]
		if len(name) > 1 && (name[0] == ' ' || name[0] == '*') {
			name = name[1:]
		}
	}
	_, err := hex.DecodeString(sum)
	return sum, name, err == nil && len(sum) == 2*size
}

// Cksum is the CRC of POSIX, or another algorithm with -a.
func Cksum(c *command.Call) int {
	o := c.Parse("a,algorithm= untagged tag")
	algorithm := o.Value("a", "crc")
	if algorithm != "crc" {
		if digests[algorithm+"sum"] == nil {
			return c.Usage(1, "invalid argument %s for '--algorithm'", command.Quote(algorithm))
		}
		c.Name = algorithm + "sum"
		if !o.On("untagged") {
			o.Set = append(o.Set, command.Option{Name: "tag"})
		}
		return digestFiles(c, o)
	}
	var table [256]uint32
	for i := range table {
		v := uint32(i) << 24
		for range 8 {
			v = v<<1 ^ 0x04c11db7*(v>>31)
		}
		table[i] = v
	}
	add := func(crc uint32, b byte) uint32 { return crc<<8 ^ table[byte(crc>>24)^b] }
	return checksums(c, o.Args, add, func(crc uint32, size int64) string {
		for n := size; n > 0; n >>= 8 {
			crc = add(crc, byte(n))
		}
		return fmt.Sprintf("%d %d", ^crc, size)
	})
}

// Shasum is Perl's form of sha1sum and its relatives.
func Shasum(c *command.Call) int {
	o := c.Parse("a,algorithm= b,binary t,text c,check tag ignore-missing quiet,q status,s strict w,warn U,UNIVERSAL 0,01")
	name := "sha" + o.Value("a", "1") + "sum"
	if o.On("c") && !o.On("a") && len(o.Args) > 0 { // by the length of the first digest
		data, _ := c.ReadFile(o.Args[0])
		first, _, _ := bytes.Cut(data, []byte(" "))
		for _, n := range []string{"224", "256", "384", "512"} {
			if len(first) == 2*digests["sha"+n+"sum"]().Size() {
				name = "sha" + n + "sum"
			}
		}
	}
	if digests[name] == nil {
		return c.Die(1, "Unrecognized algorithm")
	}
	c.Name = name
	return digestFiles(c, o)
}

// Sum is the checksum and blocks of BSD, or with -s of System V.
func Sum(c *command.Call) int {
	o := c.Parse("r s,sysv")
	sysv := o.Last("r", "s") == "s"
	add := func(sum uint32, b byte) uint32 { return (sum>>1 + sum&1<<15 + uint32(b)) & 0xffff }
	if sysv {
		add = func(sum uint32, b byte) uint32 { return sum + uint32(b) }
	}
	return checksums(c, o.Args, add, func(sum uint32, size int64) string {
		if sysv {
			sum = sum&0xffff + sum>>16
			return fmt.Sprintf("%d %d", sum&0xffff+sum>>16, (size+511)/512)
		}
		return fmt.Sprintf("%05d %5d", sum, (size+1023)/1024)
	})
}

// checksum is what a checksum's bytes are written to.
type checksum struct {
	sum uint32
	add func(sum uint32, b byte) uint32
}

func (s *checksum) Write(b []byte) (int, error) {
	for _, ch := range b {
		s.sum = s.add(s.sum, ch)
	}
	return len(b), nil
}

// checksums prints what show makes of the sum of each file's bytes and its size.
func checksums(c *command.Call, files []string, add func(sum uint32, b byte) uint32, show func(sum uint32, size int64) string) int {
	c.Each(files, func(name string, r io.Reader) error {
		s := &checksum{add: add}
		size, err := io.Copy(s, r)
		if err != nil {
			return err
		}
		if c.Print(show(s.sum, size)); len(files) > 0 {
			c.Print(" " + name)
		}
		c.Print("\n")
		return nil
	})
	return c.Status
}
