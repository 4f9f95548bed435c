package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// endDocument ends the here-document for whose end the parser looked in vain: before the
// parenthesis behind its delimiter, as in $(cat <<EOF … EOF), else at the end of the text.
// As bash does, it warns. It reports whether that was the error.
func (sh *shell) endDocument(src *source, err error) bool {
	pe, _ := errors.AsType[syntax.ParseError](err)
	quoted, ok := strings.CutPrefix(pe.Text, "unclosed here-document ")
	if !ok || pe.Pos.Offset() == src.ended {
		return false
	}
	src.ended = pe.Pos.Offset()
	delim, err := strconv.Unquote(quoted)
	if err != nil {
		return false
	}
	begins := int(pe.Pos.Line())
	lines := strings.SplitAfter(src.text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n"
	}
	ends := slices.IndexFunc(lines[min(begins, len(lines)):], func(s string) bool {
		return strings.HasPrefix(strings.TrimLeft(s, "\t"), delim+")")
	})
	if ends += begins; ends >= begins { // counts from 0: the line behind is ends+2
		i := strings.Index(lines[ends], ")")
		lines[ends] = lines[ends][:i] + "\n" + lines[ends][i:]
		ends++
	} else {
		ends = len(lines)
		lines = append(lines, delim+"\n")
	}
	wanted := src.line(ends)
	src.asked = cmp.Or(src.asked, src.text)
	src.text = strings.Join(lines, "")
	for i := range src.added {
		if src.added[i] > ends {
			src.added[i]++
		}
	}
	src.added = append(src.added, ends+1)
	slices.Sort(src.added)
	src.opens = src.line(begins) + src.first - 1
	src.open = fmt.Sprintf("here-document at line %d delimited by end-of-file (wanted `%s')", src.opens, delim)
	sh.write(2, fmt.Sprintf("%s: line %d: warning: %s\n", cmp.Or(src.name, sh.name), wanted+src.first-1, src.open))
	return true
}
