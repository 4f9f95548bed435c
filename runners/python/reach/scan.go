package reach

import (
	"bytes"
	"strings"
)

// statement is an import statement: "import a.b" has a module alone, and
// "from .a import b, c" a module with leading dots and names.
type statement struct {
	module string
	names  []string
}

// scan returns the import statements that running a module reaches: those outside of
// functions and of blocks that are for type checkers or for scripts. It reads lines and
// strings as Python's tokenizer does, and takes what is malformed for something else.
func scan(source []byte) (found []statement) {
	skip := -1 // indentation of the block that is left out, -1 for none
	for len(source) > 0 {
		var indent int
		var line string
		indent, line, source = logicalLine(source)
		if line == "" || skip >= 0 && indent > skip {
			continue
		}
		skip = -1
		if leftOut(line) {
			skip = indent
			continue
		}
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(strings.TrimPrefix(part, "try:"))
			found = append(found, parse(part)...)
		}
	}
	return found
}

// leftOut reports whether the block after a line is not run by an import.
func leftOut(line string) bool {
	if strings.HasPrefix(line, "def ") || strings.HasPrefix(line, "async def ") {
		return true
	}
	condition, ok := strings.CutPrefix(line, "if ")
	return ok && (strings.HasPrefix(condition, "TYPE_CHECKING") || strings.HasPrefix(condition, "typing.TYPE_CHECKING") ||
		strings.HasPrefix(condition, "t.TYPE_CHECKING") || strings.HasPrefix(condition, "__name__"))
}

// parse returns the imports of a statement, if it is one of these.
func parse(line string) (found []statement) {
	if rest, ok := strings.CutPrefix(line, "import "); ok {
		for _, name := range names(rest) {
			if name[0] != '.' {
				found = append(found, statement{module: name})
			}
		}
		return found
	}
	rest, ok := strings.CutPrefix(line, "from ")
	module, list, imports := strings.Cut(rest, "import")
	if module = strings.TrimSpace(module); !ok || !imports || module == "" || strings.ContainsAny(module, " \t") {
		return nil
	}
	return []statement{{module, names(strings.Trim(strings.TrimSpace(list), "()"))}}
}

// names returns the names of a list, without what they are bound to.
func names(list string) (names []string) {
	for part := range strings.SplitSeq(list, ",") {
		if words := strings.Fields(part); len(words) > 0 && words[0] != "*" {
			names = append(names, words[0])
		}
	}
	return names
}

// logicalLine returns the first line of a source, joined over brackets and backslashes,
// without strings and comments, its indentation and what comes after it.
func logicalLine(source []byte) (indent int, line string, rest []byte) {
	for indent < len(source) && (source[indent] == ' ' || source[indent] == '\t') {
		indent++
	}
	var text strings.Builder
	worth, begun := isWorth(source[indent:]), indent // only these lines' text is looked at
	depth := 0
	for i := indent; i < len(source); i++ {
		switch c := source[i]; c {
		case '\n':
			if depth > 0 {
				break
			}
			if worth {
				text.Write(source[begun:i])
			}
			return indent, strings.TrimSpace(text.String()), source[i+1:]
		case '#', '"', '\'', '\\':
			if worth {
				text.Write(source[begun:i])
				text.WriteByte(' ')
			}
			i = skipped(source, i)
			begun = min(i+1, len(source))
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	if worth {
		text.Write(source[begun:])
	}
	return indent, strings.TrimSpace(text.String()), nil
}

// isWorth reports whether a line may matter to scan. Every other line is "" to it, which
// must not hide the end of a block: so a line that begins with a letter is kept.
func isWorth(line []byte) bool {
	return len(line) > 0 && (line[0] >= 'a' && line[0] <= 'z' || line[0] >= 'A' && line[0] <= 'Z' || line[0] == '_' || line[0] == '@')
}

// skipped returns the index of the last byte of the comment, string or joined line that
// begins at i.
func skipped(source []byte, i int) int {
	switch c := source[i]; c {
	case '#':
		if n := bytes.IndexByte(source[i:], '\n'); n >= 0 {
			return i + n - 1
		}
		return len(source)
	case '\\':
		return i + 1
	default:
		quote := source[i : i+1]
		if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(source[i:], triple) {
			quote = triple
		}
		for i += len(quote); i < len(source); i++ {
			switch {
			case source[i] == '\\':
				i++
			case bytes.HasPrefix(source[i:], quote):
				return i + len(quote) - 1
			case source[i] == '\n' && len(quote) == 1:
				return i - 1 // not closed
			}
		}
		return len(source)
	}
}
