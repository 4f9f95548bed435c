package requirement

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ParseVersion parses a version in any spelling that PEP 440 accepts. A number must
// be less than 2^63.
func ParseVersion(text string) (Version, error) {
	trimmed := strings.TrimSpace(text)
	p := versionParser{rest: strings.ToLower(trimmed)}
	p.bad = strings.ContainsFunc(trimmed, func(r rune) bool { return r > unicode.MaxASCII })
	p.skip("v")
	v := Version{release: append(make([]uint64, 0, 4), p.number())}
	if p.skip("!") {
		v.epoch, v.release[0] = v.release[0], p.number()
	}
	for p.skipBeforeDigit(".") {
		v.release = append(v.release, p.number())
	}
	if word, n := p.segment("alpha", "a", "beta", "b", "preview", "pre", "c", "rc"); word != "" {
		v.pre = n
		switch word[0] {
		case 'a':
			v.phase = alpha
		case 'b':
			v.phase = beta
		default:
			v.phase = candidate
		}
	}
	if p.skipBeforeDigit("-") {
		v.post = p.number() + 1
	} else if word, n := p.segment("post", "rev", "r"); word != "" {
		v.post = n + 1
	}
	if word, n := p.segment("dev"); word != "" {
		v.dev = n + 1
		if v.phase == final && v.post == 0 {
			v.phase = developmental
		}
	}
	for more := p.skip("+"); more; more = p.skipSeparator() {
		v.local = append(v.local, p.localPart())
	}
	if p.bad || p.rest != "" {
		return Version{}, fmt.Errorf("%.100q is not a version", text)
	}
	return v, nil
}

// versionParser cuts a version from the left. It accepts what packaging's regular
// expression VERSION_PATTERN does.
type versionParser struct {
	rest string // in lower case
	bad  bool
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func (p *versionParser) skip(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// skipBeforeDigit skips a prefix if a digit follows it.
func (p *versionParser) skipBeforeDigit(prefix string) bool {
	after, ok := strings.CutPrefix(p.rest, prefix)
	if !ok || after == "" || !isDigit(after[0]) {
		return false
	}
	p.rest = after
	return true
}

func (p *versionParser) skipSeparator() bool { return p.skip(".") || p.skip("-") || p.skip("_") }

// cut cuts the bytes that are of a kind.
func (p *versionParser) cut(kind func(byte) bool) string {
	i := 0
	for i < len(p.rest) && kind(p.rest[i]) {
		i++
	}
	s := p.rest[:i]
	p.rest = p.rest[i:]
	return s
}

func (p *versionParser) number() uint64 {
	n, err := strconv.ParseUint(p.cut(isDigit), 10, 63)
	p.bad = p.bad || err != nil
	return n
}

// segment cuts one of the words and its number, which is 0 if it is missing. Each may
// have a separator before it. Without a word, it cuts nothing and returns "".
func (p *versionParser) segment(words ...string) (string, uint64) {
	if p.rest == "" {
		return "", 0
	}
	start := p.rest
	p.skipSeparator()
	for _, word := range words {
		if !p.skip(word) {
			continue
		}
		p.skipSeparator()
		if !p.skipBeforeDigit("") {
			return word, 0
		}
		return word, p.number()
	}
	p.rest = start
	return "", 0
}

// localPart cuts a word or number of a local version, which may have any length.
func (p *versionParser) localPart() string {
	s := p.cut(func(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' })
	p.bad = p.bad || s == ""
	if isNumber(s) {
		return cmp.Or(strings.TrimLeft(s, "0"), "0")
	}
	return s
}
