package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"coderunner/cache"
)

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// printable quotes what a terminal might take for orders. Keys may be anything.
func printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s && strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return q
	}
	return s
}

// humanSize rounds a number of bytes for people.
func humanSize(n int64) string {
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

// humanAge returns how long ago something was used, in days.
func humanAge(d time.Duration) string {
	switch days := int(d.Hours() / 24); {
	case days < 1:
		return "today"
	case days == 1:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", days)
	}
}

// countedSize returns how much of the entries counts against the cache's limit, and how
// much does not.
func countedSize(entries []cache.Entry) (counted, apart int64) {
	for _, e := range entries {
		if e.Counts() {
			counted += e.Size
		} else {
			apart += e.Size
		}
	}
	return counted, apart
}

// ofLimit returns the cache's limit for people, "" for none.
func ofLimit(limit int64) string {
	if limit == 0 {
		return ""
	}
	return " of " + humanSize(limit)
}
