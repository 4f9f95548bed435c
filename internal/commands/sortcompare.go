package commands

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
	"strings"
)

func (s *sorter) compare(a, b []byte) int {
	if d := s.compareKeys(a, b); d != 0 || s.stable || s.unique {
		return d
	}
	d := bytes.Compare(a, b)
	if s.reverse {
		return -d
	}
	return d
}

func (s *sorter) compareKeys(a, b []byte) int {
	for i := range s.keys {
		k := &s.keys[i]
		d := s.compareBy(k, s.field(a, k), s.field(b, k))
		if d != 0 {
			if k.reverse {
				return -d
			}
			return d
		}
	}
	return 0
}

func (s *sorter) compareBy(k *sortKey, a, b []byte) int {
	switch k.kind {
	case 'n':
		return compareNumeric(a, b)
	case 'g':
		return compareGeneral(a, b)
	case 'h':
		return cmp.Or(cmp.Compare(unitOf(a), unitOf(b)), compareNumeric(a, b))
	case 'M':
		return cmp.Compare(month(a), month(b))
	case 'V':
		return compareVersions(string(a), string(b))
	case 'R':
		return cmp.Or(cmp.Compare(scramble(a, s.random), scramble(b, s.random)), bytes.Compare(a, b))
	}
	if k.fold || k.dict || k.printing {
		return bytes.Compare(k.normal(a), k.normal(b))
	}
	return bytes.Compare(a, b)
}

func (k *sortKey) normal(a []byte) []byte {
	n := make([]byte, 0, len(a))
	for _, b := range a {
		if k.dict && !blank(b) && !trClasses["alnum"](int(b)) || k.printing && !trClasses["print"](int(b)) {
			continue
		}
		if k.fold && b >= 'a' && b <= 'z' {
			b -= 32
		}
		n = append(n, b)
	}
	return n
}

func scramble(b []byte, seed uint64) uint64 {
	h := seed ^ 14695981039346656037
	for _, v := range b {
		h = (h ^ uint64(v)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>29
}

// numeric splits the number at the start of a: its sign, the digits without
// leading zeros, and those after the point without trailing ones.
func numeric(a []byte) (negative bool, whole, part []byte) {
	a = bytes.TrimLeft(a, " \t")
	if len(a) > 0 && a[0] == '-' {
		negative, a = true, a[1:]
	}
	for len(a) > 0 && a[0] == '0' {
		a = a[1:]
	}
	end := 0
	for end < len(a) && a[end] >= '0' && a[end] <= '9' {
		end++
	}
	whole = a[:end]
	if end < len(a) && a[end] == '.' {
		part = a[end+1:]
		n := 0
		for n < len(part) && part[n] >= '0' && part[n] <= '9' {
			n++
		}
		part = bytes.TrimRight(part[:n], "0")
	}
	if len(whole)+len(part) == 0 {
		negative = false
	}
	return negative, whole, part
}

func compareNumeric(a, b []byte) int {
	n1, w1, p1 := numeric(a)
	n2, w2, p2 := numeric(b)
	if n1 != n2 {
		if n1 {
			return -1
		}
		return 1
	}
	d := cmp.Or(cmp.Compare(len(w1), len(w2)), bytes.Compare(w1, w2), bytes.Compare(p1, p2))
	if n1 {
		return -d
	}
	return d
}

// compareGeneral is the order of -g: no number, then NaN, then numbers.
func compareGeneral(a, b []byte) int {
	x, ok1 := leadingFloat(string(a))
	y, ok2 := leadingFloat(string(b))
	rank := func(ok bool, v float64) int {
		switch {
		case !ok:
			return 0
		case math.IsNaN(v):
			return 1
		}
		return 2
	}
	if r, s := rank(ok1, x), rank(ok2, y); r != s || r < 2 {
		return cmp.Compare(r, s)
	}
	return cmp.Compare(x, y)
}

// leadingFloat reads the longest number at the start of s, as strtod does.
func leadingFloat(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := floatLen(s)
	v, err := strconv.ParseFloat(s[:end], 64)
	return v, end > 0 && (err == nil || math.IsInf(v, 0))
}

// floatLen is the length of the number at the start of s.
func floatLen(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	rest := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(rest, word) {
			return i + len(word)
		}
	}
	digits := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|32 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			for i = j; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			}
		}
	}
	return i
}

// unitOf ranks the SI suffix after a number.
func unitOf(a []byte) int {
	negative, whole, part := numeric(a)
	if len(whole)+len(part) == 0 {
		return 0
	}
	rest := bytes.TrimLeft(bytes.TrimLeft(a, " \t"), "-0123456789.")
	if len(rest) == 0 {
		return 0
	}
	rank := strings.IndexByte("KMGTPEZY", rest[0]) + 1
	if rest[0] == 'k' {
		rank = 1
	}
	if negative {
		return -rank
	}
	return rank
}

func month(a []byte) int {
	a = bytes.TrimLeft(a, " \t")
	if len(a) < 3 {
		return 0
	}
	at := strings.Index("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", strings.ToUpper(string(a[:3])))
	if at < 0 || at%3 != 0 {
		return 0
	}
	return at/3 + 1
}

// compareVersions is the order of -V: runs of digits as numbers, "~" before
// everything, letters before other characters.
func compareVersions(a, b string) int {
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
