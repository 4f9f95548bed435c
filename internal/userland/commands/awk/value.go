package awk

import (
	"math"
	"strconv"
	"strings"

	"coderunner/internal/userland/printf"
)

// value is a value of awk: a number, a string, or a string from the input
// that compares as a number if it looks like one.
type value struct {
	kind kind
	n    float64
	s    string
}

type kind byte

const (
	unset kind = iota
	numeric
	text
	input // may look like a number
)

func num(n float64) value { return value{kind: numeric, n: n} }
func str(s string) value  { return value{kind: text, s: s} }

func boolean(b bool) value {
	if b {
		return num(1)
	}
	return num(0)
}

// num is the value as a number.
func (v value) num() float64 {
	if v.kind == numeric {
		return v.n
	}
	if v.s == "" {
		return 0
	}
	return number0(v.s)
}

// number0 is the number at the start of s, 0 without one.
func number0(s string) float64 {
	// Short decimal integers, which most fields are.
	if len(s) < 16 {
		n, i := 0, 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			n = n*10 + int(s[i]-'0')
		}
		if i > 0 && i == len(s) {
			return float64(n)
		}
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if s == "" || s[0] > '9' {
		return 0
	}
	if rest := strings.TrimLeft(s, "+-"); rest == "" || rest[0] > '9' {
		return 0 // no "inf" and "nan"
	}
	f, _ := strconv.ParseFloat(s[:printf.FloatLen(s)], 64)
	return f
}

// numeric reports whether the value compares as a number.
func (v value) numeric() bool {
	switch v.kind {
	case numeric, unset:
		return true
	case input:
		s := strings.Trim(v.s, " \t\n\v\f\r")
		if s == "" || s[0] > '9' || strings.TrimLeft(s, "+-") == "" || strings.TrimLeft(s, "+-")[0] > '9' {
			return false
		}
		return printf.FloatLen(s) == len(s)
	}
	return false
}

// str is the value as a string; format is CONVFMT or OFMT.
func (v value) str(format string) string {
	if v.kind != numeric {
		return v.s
	}
	return formatNumber(v.n, format)
}

func formatNumber(n float64, format string) string {
	switch {
	case n == math.Trunc(n) && math.Abs(n) < 1e18:
		return strconv.FormatInt(int64(n), 10)
	case n == math.Trunc(n) && !math.IsInf(n, 0):
		return strconv.FormatFloat(n, 'f', 0, 64)
	case format == "%.6g" && !math.IsInf(n, 0) && !math.IsNaN(n):
		return printf.Directive{Verb: 'g', Width: -1, Precision: 6}.FormatFloat(n)
	}
	s, _ := sprintf(format, []value{num(n)}, format, func(int) {})
	return s
}

func (v value) truth() bool {
	switch {
	case v.kind == numeric:
		return v.n != 0
	case v.kind == input && v.numeric():
		return v.num() != 0
	}
	return v.s != ""
}
