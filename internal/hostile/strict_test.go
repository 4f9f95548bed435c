//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The strictest parsers in use read a line that is nested no deeper than this.
const maxDepth = 100

// unreadable returns why a strict parser of JSON, of Python's, Rust's or
// JavaScript's clients, would not read a line, or "".
func unreadable(line string) string {
	if !utf8.ValidString(line) {
		return "not UTF-8"
	}
	if escape := loneSurrogate(line); escape != "" {
		return "a lone surrogate " + escape
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			if depth == 0 && d.InputOffset() > 0 {
				return ""
			}
			return err.Error()
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '[' || token == '{' {
				depth++
			} else {
				depth--
			}
			if depth > maxDepth {
				return fmt.Sprintf("nested deeper than %d", maxDepth)
			}
		case json.Number:
			f, err := token.Float64()
			whole := !strings.ContainsAny(token.String(), ".eE")
			if _, bad := strconv.ParseInt(token.String(), 10, 64); err != nil || math.IsInf(f, 0) || whole && bad != nil {
				return "the number " + clip(token.String(), 40)
			}
		}
	}
}

// loneSurrogate returns the first escape of half a character, or "".
func loneSurrogate(line string) string {
	half := func(s string) rune {
		if len(s) < 6 || s[:2] != `\u` {
			return 0
		}
		n, _ := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n)
	}
	for i := 0; i < len(line); {
		if line[i] != '\\' {
			i++
			continue
		}
		switch c := half(line[i:]); {
		case c >= 0xd800 && c < 0xdc00:
			if next := half(line[i+6:]); next < 0xdc00 || next > 0xdfff {
				return line[i : i+6]
			}
			i += 12
		case c >= 0xdc00 && c <= 0xdfff:
			return line[i : i+6]
		default:
			i += 2
		}
	}
	return ""
}

func TestUnreadable(t *testing.T) {
	for line, want := range map[string]bool{
		`{"a":[1,-2.5e3,"\ud83d\ude00 \\ud800",null]}`: false, "{\"a\":\"\xff\"}": true, `{"a":"\ud800"}`: true, `["\ud800\ud800"]`: true,
		`["\udc00"]`: true, `[1e999]`: true, `[12345678901234567890123]`: true, `{"a":`: true, ``: true, `[NaN]`: true,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth): false, strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): true,
	} {
		if got := unreadable(line); (got != "") != want {
			t.Errorf("unreadable(%.40s) = %q, want a reason: %v", line, got, want)
		}
	}
}
