package regex

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// translator writes a POSIX expression in the syntax of package regexp, which
// is also regexp2's.
type translator struct {
	Dialect
	src        string
	at         int
	out        strings.Builder
	atom       int  // where the last atom begins in out, -1 if there is none
	repeated   bool // the atom has a repetition already
	nested     int  // repetitions of repetitions
	depth      int
	opened     []int // where the open groups begin in out
	groups     int
	closed     []bool // which groups are closed, for backreferences
	open       []int
	literal    bool            // there were only plain characters
	text       strings.Builder // these
	backtracks bool
}

func (t *translator) run() error {
	t.atom, t.literal = -1, true
	for t.at < len(t.src) {
		if err := t.step(); err != nil {
			return err
		}
		if !t.literal && len(t.src) > maxSource {
			return errBig
		}
	}
	if t.depth > 0 {
		return errors.New(`Unmatched ( or \(`)
	}
	return nil
}

// step translates one element.
func (t *translator) step() error {
	ch := t.src[t.at]
	if ch == '\\' {
		return t.escape()
	}
	if t.Extended && strings.IndexByte("()|+?", ch) >= 0 || ch == '{' && t.Extended && t.interval() {
		t.at++
		return t.special(ch)
	}
	switch ch {
	case '{':
		if t.Strict {
			return errors.New("Invalid preceding regular expression")
		}
		t.at++
		t.plain('{')
	case '*':
		t.at++
		return t.repeat('*')
	case '.':
		t.at++
		t.add(".", false)
	case '[':
		return t.bracket()
	case '^':
		t.at++
		if t.Extended || t.atStart() {
			t.anchor("^")
		} else {
			t.plain('^')
		}
	case '$':
		t.at++
		if t.Extended || t.atEnd() {
			t.anchor("$")
		} else {
			t.plain('$')
		}
	default:
		_, size := utf8.DecodeRuneInString(t.src[t.at:])
		t.add(regexp.QuoteMeta(t.src[t.at:t.at+size]), true)
		t.text.WriteString(t.src[t.at : t.at+size])
		t.at += size
	}
	return nil
}

// special translates a character that a basic expression wants a backslash before,
// and an extended one none.
func (t *translator) special(ch byte) error {
	switch ch {
	case '(':
		return t.group()
	case ')':
		if t.depth == 0 && t.Strict {
			t.plain(')')
			return nil
		}
		if t.depth == 0 {
			return errors.New(`Unmatched ) or \)`)
		}
		t.close()
		return nil
	case '|':
		t.anchor("|")
		return nil
	}
	return t.repeat(ch)
}

// atStart reports whether a basic expression begins here.
func (t *translator) atStart() bool {
	before := t.src[:t.at-1]
	return before == "" || strings.HasSuffix(before, `\(`) || strings.HasSuffix(before, `\|`) || strings.HasSuffix(before, "\n")
}

func (t *translator) atEnd() bool {
	after := t.src[t.at:]
	return after == "" || strings.HasPrefix(after, `\)`) || strings.HasPrefix(after, `\|`) || strings.HasPrefix(after, "\n")
}

// interval reports whether a "{" of an extended expression begins a repetition.
func (t *translator) interval() bool {
	rest := t.src[t.at+1:]
	return rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == ',') && strings.Contains(rest, "}") && t.atom >= 0
}

// add writes an atom.
func (t *translator) add(s string, literal bool) {
	t.atom, t.repeated = t.out.Len(), false
	t.literal = t.literal && literal
	t.out.WriteString(s)
}

func (t *translator) plain(ch byte) {
	t.add(regexp.QuoteMeta(string(rune(ch))), true)
	t.text.WriteRune(rune(ch))
}

// anchor writes what matches no characters.
func (t *translator) anchor(s string) {
	t.add(s, false)
	t.atom = -1
}

func (t *translator) group() error {
	t.add("(", false)
	t.opened = append(t.opened, t.atom)
	t.groups++
	t.open = append(t.open, t.groups)
	t.closed = append(t.closed, false)
	if t.depth++; t.depth > maxNested {
		return errBig
	}
	t.atom = -1
	return nil
}

func (t *translator) close() {
	t.out.WriteByte(')')
	n := len(t.opened) - 1
	t.atom, t.repeated = t.opened[n], false
	t.closed[t.open[n]-1] = true
	t.opened, t.open = t.opened[:n], t.open[:n]
	t.depth--
}

// repeat writes a repetition of the last atom. "{" has been read.
func (t *translator) repeat(op byte) error {
	count := string(rune(op))
	if op == '{' {
		end := "}"
		if !t.Extended {
			end = `\}`
		}
		inside, _, ok := strings.Cut(t.src[t.at:], end)
		if !ok {
			return errors.New(`Unmatched \{`)
		}
		t.at += len(inside) + len(end)
		low, high, comma := strings.Cut(inside, ",")
		if strings.Trim(low+high, "0123456789") != "" || low == "" && !comma {
			return errors.New(`Invalid content of \{\}`)
		}
		low = cmp.Or(low, "0")
		if a, _ := strconv.Atoi(low); high != "" {
			if b, _ := strconv.Atoi(high); b < a {
				return errors.New(`Invalid content of \{\}`)
			}
		}
		count = "{" + low + "}"
		if comma {
			count = "{" + low + "," + high + "}"
		}
	}
	if t.atom < 0 {
		if op == '*' && !t.Extended {
			t.plain('*')
			return nil
		}
		if t.Extended && op != '{' && !t.Strict {
			if t.Warn != nil {
				t.Warn(string(rune(op)))
			}
			return nil // GNU ignores it, as after "(" and "|"
		}
		return errors.New("Invalid preceding regular expression")
	}
	t.literal = false
	if t.repeated {
		if t.nested++; t.nested > maxNested {
			return errBig
		}
		all := t.out.String()
		t.out.Reset()
		t.out.WriteString(all[:t.atom] + "(?:" + all[t.atom:] + ")")
	}
	t.out.WriteString(count)
	t.repeated = true
	return nil
}

// characterClasses and anchors are what letters after a backslash stand for.
var (
	characterClasses = map[byte]string{'w': `[\p{L}\p{Nd}_]`, 'W': `[^\p{L}\p{Nd}_]`, 's': `[\s\v]`, 'S': `[^\s\v]`}
	anchors          = map[byte]string{'b': `\b`, 'B': `\B`, '`': `\A`, '\'': `\z`}
)

// escape translates what follows a backslash.
func (t *translator) escape() error {
	if t.at+1 >= len(t.src) {
		return errors.New("Trailing backslash")
	}
	if t.numbered() {
		return nil
	}
	ch := t.src[t.at+1]
	t.at += 2
	if !t.Extended && strings.IndexByte("()|{+?", ch) >= 0 {
		return t.special(ch)
	}
	if s := characterClasses[ch]; s != "" {
		t.add(s, false)
		return nil
	}
	if s := anchors[ch]; s != "" {
		t.anchor(s)
		return nil
	}
	switch ch {
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := int(ch - '0'); n > t.groups || !t.closed[n-1] {
			return errors.New("Invalid back reference")
		}
		t.backtracks = true
		t.add(`(?:\`+string(rune(ch))+`)`, false)
	case '<':
		t.wordEdge(t.at < len(t.src) && (WordByte(t.src[t.at]) || strings.HasPrefix(t.src[t.at:], `\w`)), `\b(?=\w)`)
	case '>':
		t.wordEdge(t.at >= 3 && (WordByte(t.src[t.at-3]) || strings.HasSuffix(t.src[:t.at-2], `\w`)), `\b(?<=\w)`)
	default:
		if t.Escapes {
			if at := strings.IndexByte("abfnrtv/\"", ch); at >= 0 {
				ch = "\a\b\f\n\r\t\v/\""[at]
			}
		}
		if ch >= utf8.RuneSelf {
			t.at--
			return nil
		}
		t.plain(ch)
	}
	return nil
}

// wordEdge writes \< or \>: where a word character is certain to be on its
// inner side, that is \b.
func (t *translator) wordEdge(certain bool, exact string) {
	if certain {
		t.anchor(`\b`)
		return
	}
	t.backtracks = true
	t.anchor(exact)
}

// WordByte reports whether \w matches a byte of ASCII.
func WordByte(b byte) bool { return b == '_' || Classes["alnum"](int(b)) }
