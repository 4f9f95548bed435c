package glob

import (
	"path"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		ext, fold     bool
		want          bool
	}{
		{"*.txt", "a.txt", false, false, true},
		{"*.txt", "a.TXT", false, false, false},
		{"*.txt", "a.TXT", false, true, true},
		{"*", ".a/b", false, false, true}, // as fnmatch without flags
		{"a?c", "aüc", false, false, true},
		{"a?c", "a\xffc", false, false, true},
		{"[!a-c]x", "dx", false, false, true},
		{"[^a-c]x", "bx", false, false, false},
		{"[]a]", "]", false, false, true},
		{"[[:digit:]_]*", "7x", false, false, true},
		{"[a", "[a", false, false, true}, // no bracket expression
		{`\*`, "*", false, false, true},
		{`\*`, "a", false, false, false},
		{"@(a|b)c", "bc", true, false, true},
		{"@(a|b)c", "bc", false, false, false},
		{"!(a|b)", "c", true, false, true},
		{"!(a|b)", "a", true, false, false},
		{"*(ab)c", "ababc", true, false, true},
		{"+(ab)c", "c", true, false, false},
		{strings.Repeat("a*", 50) + "b", strings.Repeat("a", 500), false, false, false}, // at once
	} {
		if got := Compile(c.pattern, c.ext).Match(t.Context(), c.name, c.fold); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.name, got)
		}
	}
	if !MatchBase("*.go", "a/b.go") || MatchBase("b*", "b/a") != Match("b*", "b/a") || MatchBase("a", "a/b") {
		t.Error("MatchBase")
	}
}

// FuzzMatch compares with [path.Match] where both have the same rules, and the
// lengths that Prefix and Suffix return with what matches.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?", "axxbc", false)
	f.Add("[!a-c]*", "dx", false)
	f.Add("+(a|b)*(c)", "abcc", true)
	f.Fuzz(func(t *testing.T, pattern, s string, ext bool) {
		if len(pattern) > 64 || len(s) > 64 {
			return
		}
		p := Compile(pattern, ext)
		got := p.Match(t.Context(), s, false)
		if !ext && !strings.ContainsAny(pattern, `[\`) && !strings.Contains(s, "/") && strings.ToValidUTF8(pattern+s, "") == pattern+s {
			if want, err := path.Match(pattern, s); err == nil && want != got {
				t.Errorf("%q, %q: %v", pattern, s, got)
			}
		}
		for _, longest := range []bool{false, true} {
			if n := p.Prefix(t.Context(), s, longest); n >= 0 && !p.Match(t.Context(), s[:n], false) {
				t.Errorf("%q does not match the prefix of %d bytes of %q", pattern, n, s)
			}
			if n := p.Suffix(t.Context(), s, longest); n >= 0 && !p.Match(t.Context(), s[len(s)-n:], false) {
				t.Errorf("%q does not match the suffix of %d bytes of %q", pattern, n, s)
			}
		}
		if got && p.Prefix(t.Context(), s, true) != len(s) {
			t.Errorf("%q matches %q, and no prefix as long", pattern, s)
		}
	})
}

func TestHasMeta(t *testing.T) {
	for text, want := range map[string]bool{"a": false, "*": true, `\*`: false, "[": false, "x[": false, "[]": true, "[a]": true, "a?": true} {
		if HasMeta(text, false) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
