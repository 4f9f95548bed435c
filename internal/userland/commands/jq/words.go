package jq

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// mistaken returns what jq says of a filter that does not compile: the place and the line.
func mistaken(source string, err error) string {
	what, at := err.Error(), -1
	var syntax *gojq.ParseError
	if errors.As(err, &syntax) {
		at = min(max(0, syntax.Offset-len(syntax.Token)), len(source))
		if what = strings.TrimPrefix(what, "unexpected token "); what != err.Error() {
			what = "syntax error, unexpected '" + syntax.Token + "' (Unix shell quoting issues?)"
		} else if what == "unexpected EOF" {
			what = "syntax error, unexpected end of file (Unix shell quoting issues?)"
		}
	} else if kind, name, ok := strings.Cut(what, " not defined: "); ok && (kind == "function" || kind == "variable") {
		what = name + " is not defined"
		name, _, _ = strings.Cut(name, "/")
		if found := regexp.MustCompile(`(^|[^\w.$])` + regexp.QuoteMeta(name) + `(\W|$)`).FindStringIndex(source); found != nil {
			at = strings.Index(source[found[0]:], name) + found[0]
		}
	}
	if at < 0 {
		return what
	}
	line := source[strings.LastIndexByte(source[:at], '\n')+1:]
	line, _, _ = strings.Cut(line, "\n")
	return fmt.Sprintf("%s at <top-level>, line %d:\n%s", what, 1+strings.Count(source[:at], "\n"), line)
}

// saying is what gojq says of a value and what jq says.
type saying struct {
	gojq *regexp.Regexp
	jq   string
}

// value is a value in gojq's messages: its type, and its text unless it is null.
const value = `(null|(?:boolean|number|string|array|object) \(.*\))`

// kind is a value of which jq shows the type alone.
const kind = `(null|boolean|number|string|array|object)(?: \(.*\))?`

var sayings = sync.OnceValue(func() (list []saying) {
	for _, s := range [][2]string{
		{`cannot add: ` + value + ` and ` + value, "$1 and $2 cannot be added"},
		{`cannot subtract: ` + value + ` and ` + value, "$1 and $2 cannot be subtracted"},
		{`cannot multiply: ` + value + ` and ` + value, "$1 and $2 cannot be multiplied"},
		{`cannot divide: ` + value + ` and ` + value, "$1 and $2 cannot be divided"},
		{`cannot (?:divide|modulo) ` + value + ` by: ` + value, "$1 and $2 cannot be divided because the divisor is zero"},
		{`cannot iterate over: ` + value, "Cannot iterate over $1"},
		{`length cannot be applied to: ` + value, "$1 has no length"},
		{`keys cannot be applied to: ` + value, "$1 has no keys"},
		{`expected an object but got: ` + kind, "Cannot index $1 with string"},
		{`expected an array but got: ` + kind, "Cannot index $1 with number"},
		{`expected a string for object key but got: ` + value, "Cannot use $1 as object key"},
		{`(?:match|test)\(.*\) cannot be applied to: ` + value, "$1 cannot be matched, as it is not a string"},
		{`(?:sort|sort_by|group_by|unique|unique_by|min_by|max_by)(?:\(.*\))? cannot be applied to: ` + value, "$1 cannot be sorted, as it is not an array"},
		{`format not defined: @(\w+)`, "$1 is not a valid format"},
	} {
		list = append(list, saying{regexp.MustCompile(`(?s)^` + s[0] + `$`), s[1]})
	}
	return list
})

// words returns jq's words for an error of gojq.
func words(err error) string {
	text := err.Error()
	for _, s := range sayings() {
		m := s.gojq.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		first := short(m[1])
		if strings.HasPrefix(s.jq, "Cannot index") {
			first = m[1]
		}
		out := strings.Replace(s.jq, "$1", first, 1)
		if len(m) > 2 {
			out = strings.Replace(out, "$2", short(m[2]), 1)
		}
		return out
	}
	return strings.TrimPrefix(text, "error: ")
}

// short cuts a value as jq does.
func short(v string) string {
	kind, text, ok := strings.Cut(v, " (")
	switch {
	case v == "null":
		return "null (null)"
	case !ok || len(text) <= 15:
		return v
	}
	return kind + " (" + strings.ToValidUTF8(text[:11], "") + "...)"
}

// located replaces $__loc__, which gojq lacks, by what jq makes of it.
func located(source string) string {
	const name = "$__loc__"
	for at := strings.Index(source, name); at >= 0; at = strings.Index(source, name) {
		line := 1 + strings.Count(source[:at], "\n")
		source = fmt.Sprintf(`%s{"file":"<top-level>","line":%d}%s`, source[:at], line, source[at+len(name):])
	}
	return source
}
