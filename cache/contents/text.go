package contents

import (
	"fmt"
	"strconv"
	"strings"
)

// Printable quotes what a terminal might take for orders. Keys may be anything.
func Printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s && strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return q
	}
	return s
}

// Size rounds a number of bytes for people.
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, units := float64(n), "KMGTPE"
	i := -1
	for size >= 1023.5 && i < len(units)-1 {
		size, i = size/1024, i+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %ciB", size, units[i])
	}
	return fmt.Sprintf("%.0f %ciB", size, units[i])
}

// Filled returns how much of a limit is used, for people; 0 is no limit.
func Filled(bytes, limit int64) string {
	if limit == 0 {
		return Size(bytes)
	}
	return Size(bytes) + " of " + Size(limit)
}
