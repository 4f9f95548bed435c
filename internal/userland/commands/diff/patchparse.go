package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// filePatch is what a patch does to one file.
type filePatch struct {
	old, new string // names in the headers
	hunks    []patchHunk
}

// from returns the name of the file that a patch begins with.
func (f filePatch) from(reversed bool) string {
	if reversed {
		return f.new
	}
	return f.old
}

// patchHunk is a hunk: the lines it expects and those it puts there.
type patchHunk struct {
	at       int // line of the old file, from 1
	newAt    int
	old, new [][]byte
	oldBare  bool // the old text ends without a newline
	newBare  bool
	before   int // lines of context at the start and the end
	after    int
	source   []byte
}

// maxHunks bounds a patch.
const maxHunks = 100_000

// parsePatch reads unified and normal diffs.
func parsePatch(data []byte) (files []filePatch, err error) {
	lines := split(data).lines
	var normal *filePatch
	total := 0
	for i := 0; i < len(lines); {
		line := string(lines[i])
		switch {
		case strings.HasPrefix(line, "--- ") && i+1 < len(lines) && bytes.HasPrefix(lines[i+1], []byte("+++ ")):
			files = append(files, filePatch{old: patchName(line[4:]), new: patchName(string(lines[i+1][4:]))})
			normal = nil
			i += 2
		case strings.HasPrefix(line, "@@ -") && len(files) > 0:
			h, n, err := unifiedHunk(lines[i:])
			if err != nil {
				return nil, fmt.Errorf("malformed patch at line %d: %s", i+1+n, lines[min(i+n, len(lines)-1)])
			}
			if total++; total > maxHunks {
				return nil, errors.New("the patch has too many hunks")
			}
			f := &files[len(files)-1]
			f.hunks = append(f.hunks, h)
			i += n
		default:
			if h, n, ok := normalHunk(lines[i:]); ok {
				if normal == nil {
					files = append(files, filePatch{})
					normal = &files[len(files)-1]
				}
				normal.hunks = append(normal.hunks, h)
				i += n
				continue
			}
			i++
		}
	}
	return files, nil
}

// patchName is the name in a header, without the time.
func patchName(s string) string {
	name, _, _ := strings.Cut(s, "\t")
	return strings.TrimRight(name, " \r")
}

// lineNumber parses a line's number, or how many lines there are.
func lineNumber(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32) // sums of several do not overflow
	return int(n), err
}

func patchRange(s string) (at, count int, ok bool) {
	a, b, has := strings.Cut(s, ",")
	at, err := lineNumber(a)
	count = 1
	if has {
		var err2 error
		if count, err2 = lineNumber(b); err2 != nil {
			return 0, 0, false
		}
	}
	return at, count, err == nil && at >= 0 && count >= 0
}

// unifiedHunk reads a hunk and returns how many lines it has.
func unifiedHunk(lines [][]byte) (h patchHunk, n int, err error) {
	bad := errors.New("malformed")
	words := strings.Fields(string(lines[0]))
	if len(words) < 4 || words[1][0] != '-' || words[2][0] != '+' || words[3] != "@@" {
		return h, 0, bad
	}
	at, oldCount, ok1 := patchRange(words[1][1:])
	newAt, newCount, ok2 := patchRange(words[2][1:])
	if !ok1 || !ok2 {
		return h, 0, bad
	}
	h.at, h.newAt = at, newAt
	changed := false
	for n = 1; len(h.old) < oldCount || len(h.new) < newCount; n++ {
		if n >= len(lines) {
			return h, n, bad
		}
		mark, rest := byte(' '), lines[n]
		if len(rest) > 0 {
			mark, rest = rest[0], rest[1:]
		}
		switch mark {
		case ' ':
			h.old, h.new = append(h.old, rest), append(h.new, rest)
			if h.after++; !changed {
				h.before++
			}
		case '-':
			h.old, h.after, changed = append(h.old, rest), 0, true
		case '+':
			h.new, h.after, changed = append(h.new, rest), 0, true
		case '\\':
			h.bare(lines[n-1])
		default:
			return h, n, bad
		}
	}
	if n < len(lines) && bytes.HasPrefix(lines[n], []byte(`\`)) {
		h.bare(lines[n-1])
		n++
	}
	if len(h.old) > oldCount || len(h.new) > newCount {
		return h, n, bad
	}
	h.source = bytes.Join(lines[:n], []byte("\n"))
	return h, n, nil
}

// bare notes that the line before "\ No newline" has none.
func (h *patchHunk) bare(line []byte) {
	mark := byte(' ')
	if len(line) > 0 {
		mark = line[0]
	}
	h.oldBare = h.oldBare || mark != '+' && mark != '>'
	h.newBare = h.newBare || mark != '-' && mark != '<'
}

// normalHunk reads a hunk such as "2,3c2".
func normalHunk(lines [][]byte) (h patchHunk, n int, ok bool) {
	head := string(lines[0])
	op := strings.IndexAny(head, "acd")
	if op <= 0 || strings.Trim(head, "0123456789,acd") != "" {
		return h, 0, false
	}
	bounds := func(s string) (lo, count int, ok bool) {
		a, b, two := strings.Cut(s, ",")
		lo, err := lineNumber(a)
		hi := lo
		if two {
			var err2 error
			hi, err2 = lineNumber(b)
			ok = err2 == nil
		}
		return lo, hi - lo + 1, err == nil && hi >= lo && (ok || !two)
	}
	at, oldCount, ok1 := bounds(head[:op])
	newAt, newCount, ok2 := bounds(head[op+1:])
	if !ok1 || !ok2 {
		return h, 0, false
	}
	switch head[op] {
	case 'a':
		oldCount = 0
	case 'd':
		newCount = 0
	}
	h.at, h.newAt = at, newAt
	for n = 1; n < len(lines); n++ {
		l := lines[n]
		switch {
		case bytes.HasPrefix(l, []byte("< ")) && len(h.old) < oldCount:
			h.old = append(h.old, l[2:])
		case bytes.HasPrefix(l, []byte("> ")) && len(h.new) < newCount:
			h.new = append(h.new, l[2:])
		case bytes.HasPrefix(l, []byte("---")) && len(h.new) == 0:
		case bytes.HasPrefix(l, []byte(`\ `)):
			h.bare(lines[n-1])
		default:
			return h, n, len(h.old) == oldCount && len(h.new) == newCount
		}
	}
	return h, n, len(h.old) == oldCount && len(h.new) == newCount
}

// reversed undoes a hunk.
func (h patchHunk) reversed() patchHunk {
	h.old, h.new, h.oldBare, h.newBare, h.at, h.newAt = h.new, h.old, h.newBare, h.oldBare, h.newAt, h.at
	return h
}
