package parse

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
func (src *Source) endDocument(d Dialect, err error) bool {
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
	lines := strings.SplitAfter(src.Text, "\n")
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
	wanted := src.Line(ends)
	src.asked = cmp.Or(src.asked, src.Text)
	src.Text = strings.Join(lines, "")
	for i := range src.added {
		if src.added[i] > ends {
			src.added[i]++
		}
	}
	src.added = append(src.added, ends+1)
	slices.Sort(src.added)
	src.Opens = src.Line(begins) + src.First - 1
	src.Open = fmt.Sprintf("here-document at line %d delimited by end-of-file (wanted `%s')", src.Opens, delim)
	d.Warn(wanted+src.First-1, src.Open)
	return true
}
