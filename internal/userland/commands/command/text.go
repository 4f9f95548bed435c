package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
)

// Text is the message of an error: strerror's for an errno.
func Text(err error) string {
	var e abi.Errno
	if !errors.As(err, &e) {
		return err.Error()
	}
	return cmp.Or(e.Text(), e.Name())
}

// Quote is a name in GNU's messages: in single quotes, escaped as a shell
// would read it.
func Quote(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return escaped(s)
	}
	if strings.Contains(s, "'") && !strings.ContainsAny(s, "\"$`\\!") {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// escaped quotes a string with control characters: 'a'$'\n”b'.
func escaped(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\'':
			b.WriteString(`'\''`)
		case ch >= ' ' && ch != 0x7f:
			b.WriteByte(ch)
		default:
			var run strings.Builder
			for ; i < len(s) && (s[i] < ' ' || s[i] == 0x7f); i++ {
				if at := strings.IndexByte("\a\b\t\n\v\f\r", s[i]); at >= 0 {
					run.WriteString(`\` + "abtnvfr"[at:at+1])
				} else {
					fmt.Fprintf(&run, `\%03o`, s[i])
				}
			}
			i--
			b.WriteString("'$'" + run.String() + "''")
		}
	}
	b.WriteByte('\'')
	q := b.String()
	if strings.HasSuffix(q, "''") && len(q) > 2 {
		q = q[:len(q)-2]
	}
	return strings.TrimPrefix(q, "''")
}

// Quotef is Quote, for names that need it only.
func Quotef(s string) string {
	if s == "" || s[0] == '~' || s[0] == '#' || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("'\"$`\\!*?[|&;<>()=:", r)
	}) {
		return Quote(s)
	}
	return s
}

// suffixes are the multipliers of sizes in coreutils: 10k, 1MiB, 2MB, 3b.
var suffixes = "kMGTPEZY"

// Size parses a number with an optional multiplier.
func Size(s string) (int64, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	unit := s[end:]
	if end == 0 && unit != "" {
		n, err = 1, nil
	}
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 1<<63 - 1, true
		}
		return 0, false
	}
	base := int64(1024)
	switch {
	case unit == "" || unit == "c":
		return n, true
	case unit == "b":
		return times(n, 512), true
	case strings.HasSuffix(unit, "iB"):
		unit = unit[:len(unit)-2]
	case strings.HasSuffix(unit, "B"):
		base, unit = 1000, unit[:len(unit)-1]
	}
	at := strings.Index(suffixes, unit)
	if i := strings.Index("Kmgt", unit); i >= 0 {
		at = i
	}
	if len(unit) != 1 || at < 0 {
		return 0, false
	}
	for range at + 1 {
		n = times(n, base)
	}
	return n, true
}

// times multiplies and stays at the largest number.
func times(n, by int64) int64 {
	if n > (1<<63-1)/by {
		return 1<<63 - 1
	}
	return n * by
}

// Scale divides a number by the base until it is less, and returns it rounded to a number of
// decimals, and how often it was divided. -1 is one decimal below ten.
func Scale(v, base float64, decimals int, round func(float64) float64) (text string, power int) {
	for ; math.Abs(v) >= base && power < len(Units); power++ {
		v /= base
	}
	places := math.Pow(10, float64(max(decimals, 0)))
	if math.Abs(round(v*places)/places) >= base && power < len(Units) && (power > 0 || decimals >= 0) { // 1023.9K
		v, power = v/base, power+1
	}
	if decimals < 0 && power > 0 && math.Abs(round(v*10)/10) < 10 {
		decimals, places = 1, 10
	}
	return strconv.FormatFloat(round(v*places)/places, 'f', max(decimals, 0), 64), power
}

// Units are the letters of the powers that Scale returns, from 1.
const Units = "KMGTPEZY"

// Prefix is the letter of a power: with the base 1000 the first is small.
func Prefix(base float64, power int) string {
	switch {
	case power == 0:
		return ""
	case power == 1 && base == 1000:
		return "k"
	}
	return Units[power-1 : power]
}

// Human is a size as -h prints it: rounded up, one decimal below ten.
func Human(n int64, base float64) string {
	s, power := Scale(float64(n), base, -1, func(f float64) float64 { return math.Floor(f + 0.999999) })
	return s + Prefix(base, power)
}

// Plural is the end of a noun behind a number.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// Base is the last component of a path, as basename has it.
func Base(name string) string {
	t := strings.TrimRight(name, "/")
	if t == "" && name != "" {
		return "/"
	}
	return t[strings.LastIndexByte(t, '/')+1:]
}

// Dir is all but the last component of a path, as dirname has it.
func Dir(name string) string {
	t := strings.TrimRight(name, "/")
	at := strings.LastIndexByte(t, '/')
	switch {
	case t == "" && name != "":
		return "/"
	case at < 0:
		return "."
	}
	if t = strings.TrimRight(t[:at], "/"); t == "" {
		return "/"
	}
	return t
}

// JoinPath returns name as seen from dir: an absolute name is itself.
func JoinPath(dir, name string) string {
	if dir == "" || path.IsAbs(name) {
		return name
	}
	return Join(dir, name)
}

// LineEnd returns what ends a line: NUL with -z, otherwise a newline.
func LineEnd(zero bool) byte {
	if zero {
		return 0
	}
	return '\n'
}

// Visible is a byte in the notation of cat -v.
func Visible(b byte) string {
	prefix := ""
	if b >= 0x80 {
		prefix, b = "M-", b-0x80
	}
	switch {
	case b < 0x20:
		return prefix + "^" + string(rune(b+0x40))
	case b == 0x7f:
		return prefix + "^?"
	}
	return prefix + string(rune(b))
}

// CompareVersions is the order of -V: runs of digits as numbers, "~" before
// everything, letters before other characters.
func CompareVersions(a, b string) int {
	if a == b {
		return 0
	}
	order := func(s string, i int) int {
		switch {
		case i >= len(s) || s[i] >= '0' && s[i] <= '9':
			return 0
		case s[i] == '~':
			return -1
		case s[i]|32 >= 'a' && s[i]|32 <= 'z':
			return int(s[i])
		}
		return int(s[i]) + 256
	}
	digit := func(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		for i < len(a) && !digit(a, i) || j < len(b) && !digit(b, j) {
			if d := cmp.Compare(order(a, i), order(b, j)); d != 0 {
				return d
			}
			i, j = i+1, j+1
		}
		for digit(a, i) && a[i] == '0' {
			i++
		}
		for digit(b, j) && b[j] == '0' {
			j++
		}
		si, sj := i, j
		for digit(a, i) {
			i++
		}
		for digit(b, j) {
			j++
		}
		if d := cmp.Or(cmp.Compare(i-si, j-sj), strings.Compare(a[si:i], b[sj:j])); d != 0 {
			return d
		}
	}
	return strings.Compare(a, b)
}
