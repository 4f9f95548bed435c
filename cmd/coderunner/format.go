package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"coderunner/cache/contents"
)

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// printable quotes what a terminal might take for orders.
func printable(s string) string { return contents.Printable(s) }

// humanSize rounds a number of bytes for people.
func humanSize(n int64) string { return contents.Size(n) }

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
