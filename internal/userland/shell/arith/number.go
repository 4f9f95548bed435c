package arith

import (
	"strconv"
	"strings"
)

// Truth returns the number of a condition, and with a negated one a status.
func Truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// number parses 10, 0x1f, 017 and 2#101. ok is false for what is no number.
func (a *arithmetic) number(s string) (n int64, ok bool) {
	base, digits := 10, s
	switch {
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		base, digits = 16, s[2:]
	case strings.Contains(s, "#"):
		b, rest, _ := strings.Cut(s, "#")
		var err error
		if base, err = strconv.Atoi(b); err != nil || base < 2 || base > 64 {
			return a.fail("invalid arithmetic base", s), false
		}
		digits = rest
	case s[0] == '0' && len(s) > 1:
		base, digits = 8, s[1:]
	}
	var u uint64
	for i := range len(digits) {
		d := digit(digits[i], base)
		if d < 0 {
			return 0, false
		}
		if d >= base {
			return a.fail(tooGreat, s), false
		}
		u = u*uint64(base) + uint64(d)
	}
	return int64(u), true
}

func digit(c byte, base int) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'Z' && base <= 36:
		return int(c-'A') + 10
	case 'A' <= c && c <= 'Z':
		return int(c-'A') + 36
	case c == '@':
		return 62
	case c == '_':
		return 63
	}
	return -1
}
