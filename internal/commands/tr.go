package commands

import (
	"fmt"
	"io"
	"strings"
)

// trClasses are the character classes of tr, in the C locale.
var trClasses = map[string]func(b int) bool{
	"lower":  func(b int) bool { return b >= 'a' && b <= 'z' },
	"upper":  func(b int) bool { return b >= 'A' && b <= 'Z' },
	"alpha":  func(b int) bool { return b|32 >= 'a' && b|32 <= 'z' },
	"digit":  func(b int) bool { return b >= '0' && b <= '9' },
	"alnum":  func(b int) bool { return b|32 >= 'a' && b|32 <= 'z' || b >= '0' && b <= '9' },
	"space":  func(b int) bool { return b == ' ' || b >= 9 && b <= 13 },
	"blank":  func(b int) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b int) bool { return b < 32 || b == 127 },
	"print":  func(b int) bool { return b >= 32 && b < 127 },
	"graph":  func(b int) bool { return b > 32 && b < 127 },
	"punct":  func(b int) bool { return b > 32 && b < 127 && !(b|32 >= 'a' && b|32 <= 'z' || b >= '0' && b <= '9') },
	"xdigit": func(b int) bool { return b >= '0' && b <= '9' || b|32 >= 'a' && b|32 <= 'f' },
}

// trSet expands a set of tr. fill is the index at which [x*] repeats x as often
// as is needed, or -1.
func trSet(s string) (set []byte, fill int, cased bool, err error) {
	fill = -1
	for i := 0; i < len(s); {
		if name, rest, ok := bracket(s[i:], ':'); ok {
			in := trClasses[name]
			if in == nil {
				return nil, 0, false, fmt.Errorf("invalid character class %s", quote(name))
			}
			for b := range 256 {
				if in(b) {
					set = append(set, byte(b))
				}
			}
			cased = cased || name == "upper" || name == "lower"
			i = len(s) - len(rest)
			continue
		}
		if name, rest, ok := bracket(s[i:], '='); ok {
			if len(name) != 1 {
				return nil, 0, false, fmt.Errorf("%s: equivalence class operand must be a single character", name)
			}
			set = append(set, name[0])
			i = len(s) - len(rest)
			continue
		}
		if b, count, n, ok := trRepeat(s[i:]); ok {
			if count == 0 {
				fill = len(set)
			}
			for range max(count, 1) {
				set = append(set, b)
			}
			i += n
			continue
		}
		b, n := trByte(s[i:])
		i += n
		if i+1 < len(s) && s[i] == '-' {
			to, n := trByte(s[i+1:])
			if to < b {
				return nil, 0, false, fmt.Errorf("range-endpoints of '%c-%c' are in reverse collating sequence order", b, to)
			}
			for v := int(b); v <= int(to); v++ {
				set = append(set, byte(v))
			}
			i += 1 + n
			continue
		}
		set = append(set, b)
	}
	return set, fill, cased, nil
}

// bracket reads "[:name:]rest".
func bracket(s string, mark byte) (name, rest string, ok bool) {
	if len(s) < 4 || s[0] != '[' || s[1] != mark {
		return "", "", false
	}
	return strings.Cut(s[2:], string(mark)+"]")
}

// trRepeat reads "[x*n]".
func trRepeat(s string) (b byte, count, length int, ok bool) {
	if len(s) < 4 || s[0] != '[' {
		return 0, 0, 0, false
	}
	b, n := trByte(s[1:])
	if 1+n >= len(s) || s[1+n] != '*' {
		return 0, 0, 0, false
	}
	number, _, found := strings.Cut(s[n+2:], "]")
	if !found || strings.Trim(number, "0123456789") != "" {
		return 0, 0, 0, false
	}
	base := "%d"
	if strings.HasPrefix(number, "0") {
		base = "%o"
	}
	fmt.Sscanf(number, base, &count)
	return b, min(count, 1<<16), n + 3 + len(number), true
}

// trByte reads a byte or an escape.
func trByte(s string) (b byte, n int) {
	if s[0] != '\\' || len(s) == 1 {
		return s[0], 1
	}
	if at := strings.IndexByte(`abfnrtv\`, s[1]); at >= 0 {
		return "\a\b\f\n\r\t\v\\"[at], 2
	}
	v := 0
	for n = 1; n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' && v*8+int(s[n]-'0') < 256; n++ {
		v = v*8 + int(s[n]-'0')
	}
	if n == 1 {
		return s[1], 2
	}
	return byte(v), n
}

func tr(c *call) int {
	o, status := c.options("+ c,C,complement d,delete s,squeeze-repeats t,truncate-set1")
	if o == nil {
		return status
	}
	translating := !o.on("d") && (len(o.args) > 1 || !o.on("s"))
	if status := trOperands(c, o, translating); status != 0 {
		return status
	}
	first, _, _, err := trSet(o.args[0])
	if err != nil {
		return c.die(1, "%s", err)
	}
	if o.on("c") {
		first = others(first)
	}
	var second []byte
	fill, cased := -1, false
	if len(o.args) > 1 {
		if second, fill, cased, err = trSet(o.args[1]); err != nil {
			return c.die(1, "%s", err)
		}
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	var drop, squeeze [256]bool
	if translating {
		if len(second) == 0 && !o.on("t") {
			return c.die(1, "when not truncating set1, string2 must be non-empty")
		}
		if fill >= 0 {
			for len(second) < len(first) {
				second = append(second[:fill+1:fill+1], second[fill:]...)
			}
		}
		for i, b := range first {
			switch {
			case i < len(second):
				table[b] = second[i]
			case o.on("t"):
			case cased && len(second) < len(first) && strings.HasSuffix(o.args[1], ":]"):
				return c.die(1, "when translating with string1 longer than string2,\nthe latter string must not end with a character class")
			default:
				table[b] = second[len(second)-1]
			}
		}
	}
	if o.on("d") {
		for _, b := range first {
			drop[b] = true
		}
	}
	if o.on("s") {
		set := first
		if len(o.args) > 1 {
			set = second
		}
		for _, b := range set {
			squeeze[b] = true
		}
	}
	trStream(c, &table, &drop, &squeeze)
	return c.status
}

// trOperands reports a wrong number of sets.
func trOperands(c *call, o *options, translating bool) (status int) {
	switch {
	case len(o.args) == 0:
		return c.missing(o)
	case translating && len(o.args) == 1:
		c.errorf("missing operand after %s", quote(o.args[0]))
		c.warnf("Two strings must be given when translating.\nTry 'tr --help' for more information.\n")
		return 1
	case o.on("d") && o.on("s") && len(o.args) == 1:
		c.errorf("missing operand after %s", quote(o.args[0]))
		c.warnf("Two strings must be given when both deleting and squeezing repeats.\nTry 'tr --help' for more information.\n")
		return 1
	case o.on("d") && !o.on("s") && len(o.args) > 1:
		c.errorf("extra operand %s", quote(o.args[1]))
		c.warnf("Only one string may be given when deleting without squeezing repeats.\nTry 'tr --help' for more information.\n")
		return 1
	case len(o.args) > 2:
		return c.extra(o.args[2])
	}
	return 0
}

func others(set []byte) (rest []byte) {
	var in [256]bool
	for _, b := range set {
		in[b] = true
	}
	for b := range 256 {
		if !in[b] {
			rest = append(rest, byte(b))
		}
	}
	return rest
}

func trStream(c *call, table *[256]byte, drop, squeeze *[256]bool) {
	buf := make([]byte, copySize)
	last := -1
	for r := c.in(); ; {
		n, err := r.Read(buf)
		kept := buf[:0]
		for _, b := range buf[:n] {
			if drop[b] {
				continue
			}
			b = table[b]
			if squeeze[b] && int(b) == last {
				continue
			}
			last = int(b)
			kept = append(kept, b)
		}
		c.out.Write(kept)
		if err != nil {
			if err != io.EOF {
				c.failed("-", err)
			}
			return
		}
	}
}
