package regex

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Fnmatch is fnmatch(3) without flags: "*" and "?" match slashes and dots, too.
func Fnmatch(glob, name string) bool { return Match(glob, name, false) }

// Match matches a glob. It takes time in proportion to the product of the
// lengths: only the last "*" is tried again.
func Match(glob, name string, fold bool) bool {
	if fold {
		glob, name = strings.ToLower(glob), strings.ToLower(name)
	}
	g, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		_, size := utf8.DecodeRuneInString(name[n:])
		if g < len(glob) && glob[g] == '*' {
			star, from = g, n
			g++
			continue
		}
		if next, ok := one(glob[g:], name[n:n+size]); ok {
			g += next
			n += size
			continue
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[from:])
		from += size
		g, n = star+1, from
	}
	return strings.Trim(glob[g:], "*") == ""
}

// one matches one character against the start of a glob and returns how much of
// the glob that took.
func one(glob, ch string) (int, bool) {
	if glob == "" {
		return 0, false
	}
	switch glob[0] {
	case '?':
		return 1, true
	case '\\':
		if len(glob) > 1 {
			_, size := utf8.DecodeRuneInString(glob[1:])
			return 1 + size, glob[1:1+size] == ch
		}
	case '[':
		if size, ok, closed := oneOf(glob, ch); closed {
			return size, ok
		}
	}
	_, size := utf8.DecodeRuneInString(glob)
	return size, glob[:size] == ch
}

// oneOf matches a bracket expression.
func oneOf(glob, ch string) (size int, ok, closed bool) {
	i := 1
	not := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if not {
		i++
	}
	r, _ := utf8.DecodeRuneInString(ch)
	for first := true; i < len(glob); first = false {
		if glob[i] == ']' && !first {
			return i + 1, ok != not, true
		}
		if name, rest, is := Bracket(glob[i:], ':'); is {
			if class := TrClasses[name]; class != nil && r < utf8.RuneSelf && class(int(r)) {
				ok = true
			}
			i = len(glob) - len(rest)
			continue
		}
		lo, n := globRune(glob[i:])
		i += n
		hi := lo
		if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
			hi, n = globRune(glob[i+1:])
			i += 1 + n
		}
		ok = ok || lo <= r && r <= hi
	}
	return 0, false, false
}

func globRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

// GlobBase reports whether a glob matches a name or its last component.
func GlobBase(glob, name string) bool { return Fnmatch(glob, path.Base(name)) || Fnmatch(glob, name) }
