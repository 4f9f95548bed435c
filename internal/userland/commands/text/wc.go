package text

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// Wc prints the numbers of lines, words and bytes of each file.
func Wc(c *command.Call) int {
	o := c.Parse("c,bytes m,chars l,lines w,words L,max-line-length files0-from= !total=")
	want := []string{"l", "w", "m", "c", "L"}
	shown := slices.DeleteFunc(slices.Clone(want), func(n string) bool { return !o.On(n) })
	if len(shown) == 0 {
		shown = []string{"l", "w", "c"}
	}
	names := o.Args
	if list := o.Value("files0-from", ""); list != "" {
		data, err := c.ReadFile(list)
		c.Need(err, 1, "cannot open %s for reading", command.Quote(list))
		names = strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	}
	width := wcWidth(c, names, len(shown))
	var total counts
	print := func(n counts, name string) {
		for i, s := range shown {
			if i > 0 {
				c.Print(" ")
			}
			c.Printf("%*d", width, n[slices.Index(want, s)])
		}
		if name != "" {
			c.Print(" " + name)
		}
		c.Print("\n")
	}
	words := slices.ContainsFunc(shown, func(s string) bool { return s != "l" && s != "c" })
	c.Each(names, func(name string, r io.Reader) error {
		n, err := count(r, words)
		for i := range total {
			if i == 4 {
				total[i] = max(total[i], n[i])
			} else {
				total[i] += n[i]
			}
		}
		if len(names) == 0 {
			name = ""
		}
		print(n, name)
		return err
	})
	if len(names) > 1 && !c.Stopped() {
		print(total, "total")
	}
	return c.Status
}

// wcWidth is the width of wc's columns: that of the sum of the files' sizes.
func wcWidth(c *command.Call, names []string, columns int) int {
	if columns == 1 && len(names) < 2 {
		return 1
	}
	if len(names) == 0 {
		f := c.Process.File(0)
		if f == nil || f.Stat().Mode&abi.S_IFMT != abi.S_IFREG {
			return 7
		}
		return len(strconv.FormatInt(f.Stat().Size, 10))
	}
	sum, least := int64(0), 1
	for _, name := range names {
		st, err := c.Stat(name)
		switch {
		case name == "-" || err == nil && st.Mode&abi.S_IFMT != abi.S_IFREG:
			least = 7
		case err == nil:
			sum += st.Size
		}
	}
	return max(least, len(strconv.FormatInt(sum, 10)))
}

// counts are lines, words, characters, bytes and the longest line.
type counts [5]int64

func count(r io.Reader, words bool) (n counts, err error) {
	buf := make([]byte, command.CopySize)
	inWord, rest, column := false, 0, int64(0)
	for {
		m, err := r.Read(buf[rest:])
		n[3] += int64(m)
		part := buf[:rest+m]
		if !words {
			n[0] += int64(bytes.Count(part, []byte{'\n'}))
			part = nil
		}
		for len(part) > 0 {
			ch, size := rune(part[0]), 1
			if ch >= utf8.RuneSelf {
				if !utf8.FullRune(part) && err == nil {
					break
				}
				ch, size = utf8.DecodeRune(part)
			}
			part = part[size:]
			if ch == utf8.RuneError && size == 1 {
				continue
			}
			n[2]++
			switch {
			case ch == '\n':
				n[0]++
				fallthrough
			case ch == '\r' || ch == '\f':
				n[4], column, inWord = max(n[4], column), 0, false
			case ch == '\t':
				column, inWord = column|7+1, false
			case ch == ' ' || ch == '\v' || ch == 0xa0 || ch == 0x3000 || ch >= 0x2000 && ch <= 0x200a:
				column, inWord = column+1, false
			case ch < ' ' || ch == 0x7f:
			default:
				if !inWord {
					n[1]++
				}
				column, inWord = column+int64(command.Cells(ch)), true
			}
		}
		rest = copy(buf, part)
		if err != nil {
			n[4] = max(n[4], column)
			return n, notEOF(err)
		}
	}
}
