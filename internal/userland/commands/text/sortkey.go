package text

import (
	"bytes"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// sortKey is what lines are compared by: a range of fields and how.
type sortKey struct {
	from, fromChar       int // from 0
	to, toChar           int // the field after the last one; -1: to the end
	startBlank, endBlank bool
	fold, dict, printing bool
	kind                 byte // n, g, h, M, V, R or 0
	reverse              bool
	whole                bool // no -k: the line
}

const sortFlags = "bdfigMhnRrV"

func (k *sortKey) flag(f rune, start, end bool) {
	switch f {
	case 'b':
		k.startBlank, k.endBlank = k.startBlank || start, k.endBlank || end
	case 'd':
		k.dict = true
	case 'f':
		k.fold = true
	case 'i':
		k.printing = true
	case 'r':
		k.reverse = true
	default:
		k.kind = byte(f)
	}
}

func (k *sortKey) plain() bool {
	return !k.startBlank && !k.endBlank && !k.fold && !k.dict && !k.printing && k.kind == 0 && !k.reverse
}

// parseSortKey reads POS1[,POS2] of -k.
func parseSortKey(s string) (k sortKey, problem string) {
	k.to = -1
	start, end, has := strings.Cut(s, ",")
	field, char, flags, ok := sortPos(start)
	if !ok {
		return k, "invalid number at field start: invalid count at start of " + command.Quote(start)
	}
	if field == 0 {
		return k, "-: invalid field specification " + command.Quote(s)
	}
	k.from, k.fromChar = field-1, max(0, char-1)
	if problem = k.flags(s, flags, true); problem != "" || !has {
		return k, problem
	}
	field, char, flags, ok = sortPos(end)
	if !ok || field == 0 {
		return k, "invalid number after ',': invalid count at start of " + command.Quote(end)
	}
	k.to, k.toChar = field, max(0, char)
	return k, k.flags(s, flags, false)
}

// flags sets the flags at the start or the end of a key.
func (k *sortKey) flags(spec, flags string, start bool) (problem string) {
	for _, f := range flags {
		if !strings.ContainsRune(sortFlags, f) {
			return "stray character in field spec: invalid field specification " + command.Quote(spec)
		}
		k.flag(f, start, !start)
	}
	return ""
}

// sortPos reads F[.C][flags]; char is -1 if there is none.
func sortPos(s string) (field, char int, flags string, ok bool) {
	number := func() int {
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(s[:end])
		ok = err == nil
		s = s[end:]
		return n
	}
	field, char = number(), -1
	if ok && strings.HasPrefix(s, ".") {
		s = s[1:]
		char = number()
	}
	return field, char, s, ok
}

// field returns the part of the line that a key compares.
func (s *sorter) field(line []byte, k *sortKey) []byte {
	if k.whole {
		if k.startBlank {
			return bytes.TrimLeft(line, " \t")
		}
		return line
	}
	begin := s.skip(line, k.from)
	if k.startBlank {
		for begin < len(line) && blank(line[begin]) {
			begin++
		}
	}
	begin = min(len(line), begin+k.fromChar)
	end := len(line)
	if k.to >= 0 {
		if k.toChar == 0 {
			end = s.skip(line, k.to)
			if s.tab != nil && end > 0 && end <= len(line) && s.ended(line, k.to) {
				end--
			}
		} else {
			end = s.skip(line, k.to-1)
			if k.endBlank {
				for end < len(line) && blank(line[end]) {
					end++
				}
			}
			end = min(len(line), end+k.toChar)
		}
	}
	if end < begin {
		return nil
	}
	return line[begin:end]
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// skip returns the offset of the field after n fields.
func (s *sorter) skip(line []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(line); n-- {
		if s.tab != nil {
			next := bytes.IndexByte(line[at:], s.tab[0])
			if next < 0 {
				return len(line)
			}
			at += next + 1
			continue
		}
		for at < len(line) && blank(line[at]) {
			at++
		}
		for at < len(line) && !blank(line[at]) {
			at++
		}
	}
	return at
}

// ended reports whether a separator ends the n-th field.
func (s *sorter) ended(line []byte, n int) bool { return bytes.Count(line, s.tab) >= n }
