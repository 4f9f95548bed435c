package text

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
	"coderunner/internal/userland/regex"
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
		return command.CompareVersions(string(a), string(b))
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
		if k.dict && !blank(b) && !regex.Classes["alnum"](int(b)) || k.printing && !regex.Classes["print"](int(b)) {
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
	x, ok1 := printf.LeadingFloat(string(a))
	y, ok2 := printf.LeadingFloat(string(b))
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
	rank := strings.IndexByte(command.Units, rest[0]) + 1
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
