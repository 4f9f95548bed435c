package contents

import (
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Printable quotes what a terminal might take for orders. Keys may be anything.
func Printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s && strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return q
	}
	return s
}

// Size rounds a number of bytes for people.
func Size(n int64) string { return humanize.IBytes(uint64(n)) }

// Filled returns how much of a limit is used, for people; 0 is no limit.
func Filled(bytes, limit int64) string {
	if limit == 0 {
		return Size(bytes)
	}
	return Size(bytes) + " of " + Size(limit)
}
