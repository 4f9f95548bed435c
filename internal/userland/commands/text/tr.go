package text

import (
	"fmt"
	"io"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// trSet expands a set of tr. fill is the index at which [x*] repeats x as often
// as is needed, or -1.
func trSet(s string) (set []byte, fill int, cased bool, err error) {
	fill = -1
	for i := 0; i < len(s); {
		if name, rest, ok := regex.Bracket(s[i:], ':'); ok {
			in := regex.Classes[name]
			if in == nil {
				return nil, 0, false, fmt.Errorf("invalid character class %s", command.Quote(name))
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
		if name, rest, ok := regex.Bracket(s[i:], '='); ok {
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

// Tr translates, squeezes or deletes characters.
func Tr(c *command.Call) int {
	o := c.Parse("+ c,C,complement d,delete s,squeeze-repeats t,truncate-set1", 1)
	translating := !o.On("d") && (len(o.Args) > 1 || !o.On("s"))
	trOperands(c, o, translating)
	first, _, _, err := trSet(o.Args[0])
	c.Must(err)
	if o.On("c") {
		first = others(first)
	}
	var second []byte
	fill, cased := -1, false
	if len(o.Args) > 1 {
		second, fill, cased, err = trSet(o.Args[1])
		c.Must(err)
	}
	for fill >= 0 && len(second) < len(first) {
		second = append(second[:fill+1:fill+1], second[fill:]...)
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	if translating && len(second) == 0 && !o.On("t") {
		return c.Die(1, "when not truncating set1, string2 must be non-empty")
	}
	for i, b := range first {
		switch {
		case !translating:
		case i < len(second):
			table[b] = second[i]
		case o.On("t"):
		case cased && strings.HasSuffix(o.Args[1], ":]"):
			return c.Die(1, "when translating with string1 longer than string2,\nthe latter string must not end with a character class")
		default:
			table[b] = second[len(second)-1]
		}
	}
	var drop, squeeze [256]bool
	if o.On("d") {
		drop = members(first)
	}
	if o.On("s") && len(o.Args) > 1 {
		squeeze = members(second)
	} else if o.On("s") {
		squeeze = members(first)
	}
	trStream(c, &table, &drop, &squeeze)
	return c.Status
}

// trOperands ends tr if it has a wrong number of sets.
func trOperands(c *command.Call, o *command.Options, translating bool) {
	n, problem, hint := len(o.Args), "missing operand after", ""
	switch {
	case translating && n == 1:
		hint = "Two strings must be given when translating."
	case o.On("d") && o.On("s") && n == 1:
		hint = "Two strings must be given when both deleting and squeezing repeats."
	case o.On("d") && !o.On("s") && n > 1:
		problem, hint = "extra operand", "Only one string may be given when deleting without squeezing repeats."
	case n > 2:
		c.Refuse(1, "extra operand %s", command.Quote(o.Args[2]))
	default:
		return
	}
	c.Exit(1, "%s %s\n%s\nTry 'tr --help' for more information.", problem, command.Quote(o.Args[min(n, 2)-1]), hint)
}

// members returns which bytes a set has.
func members(set []byte) (in [256]bool) {
	for _, b := range set {
		in[b] = true
	}
	return in
}

func others(set []byte) (rest []byte) {
	in := members(set)
	for b := range 256 {
		if !in[b] {
			rest = append(rest, byte(b))
		}
	}
	return rest
}

func trStream(c *command.Call, table *[256]byte, drop, squeeze *[256]bool) {
	buf := make([]byte, command.CopySize)
	last := -1
	for r := c.In(); ; {
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
		c.Out.Write(kept)
		if err != nil {
			if err != io.EOF {
				c.Failed("-", err)
			}
			return
		}
	}
}
