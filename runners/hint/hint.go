// Package hint says what to do about the error of a program, by rows of data.
//
// Programs are written for other machines. If one fails because this is not such a machine,
// its error does not say so. Then a row matches what the host saw of the error, asks the
// runner for conditions that only the runner knows, and supplies a text. The rows of a
// language are in one file, whose head describes them; each has a case in testdata that
// fails without it. docs/contributing.md says when to add one.
package hint

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"coderunner/internal/lazyregexp"
)

//go:embed rows/*.toml
var files embed.FS

// Failure is what the host saw of a program that failed.
type Failure struct {
	Type, Message, Traceback string

	// Source is the program's text.
	Source string

	// Needs are the conditions that rows name.
	Needs map[string]Need
}

// Need is a condition of a row, which may have an argument. It may set values that
// the row's text uses.
type Need func(argument string, values Values) bool

// Values are what the placeholders of a text stand for: what a row's expressions
// captured, and what its needs set.
type Values map[string]string

// Table has the rows of a language.
type Table struct {
	Texts map[string]string // that rows share, by their names
	Rows  []*Row            `toml:"row"`
}

// Row is what to say about an error. All that it has must match.
type Row struct {
	Name string // of its case
	Type string // the error's: one of these words, or none of them after "!"

	// The message: as it is, its beginning, a part, its end, or an expression.
	Is               *string
	Begins, Has, End string
	Like             string

	// Expressions that the traceback, the line that raised with what follows it, and the
	// program's text match.
	Traceback, Last, Source string

	Needs    []string // "name argument", after "!" where it must not be so
	Says     string
	Replaces bool // the text stands for what Has, Begins or Like has found, and other rows follow

	like, traceback, last, source *regexp.Regexp
}

// For returns the rows of a language, which are read when the first program fails.
func For(language string) *Table { return tables[language]() }

var tables = map[string]func() *Table{
	"javascript": sync.OnceValue(func() *Table { return mustRead("javascript") }),
	"python":     sync.OnceValue(func() *Table { return mustRead("python") }),
}

func mustRead(language string) *Table {
	t, err := read(language)
	if err != nil {
		panic(err) // a test reads them
	}
	return t
}

func read(language string) (*Table, error) {
	data, err := files.ReadFile("rows/" + language + ".toml")
	if err != nil {
		return nil, err
	}
	t := new(Table)
	if err := toml.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("rows of %s: %w", language, err)
	}
	for _, r := range t.Rows {
		for expr, to := range map[string]**regexp.Regexp{r.Like: &r.like, r.Traceback: &r.traceback, r.Last: &r.last, r.Source: &r.source} {
			if expr == "" {
				continue
			}
			if *to, err = regexp.Compile(expr); err != nil {
				return nil, fmt.Errorf("row %s: %w", r.Name, err)
			}
		}
	}
	return t, nil
}

// Restate returns the message of a failure with what other rows than those of Advice
// replace in it, all that match.
func (t *Table) Restate(f Failure) string {
	for _, r := range t.Rows {
		if values, ok := r.matches(f); ok && r.Replaces {
			f.Message = r.replace(f.Message, t.fill(r.Says, values))
		}
	}
	return f.Message
}

// Cut returns a text, as a traceback, without what rows without conditions replace.
func (t *Table) Cut(text string) string {
	for _, r := range t.Rows {
		if r.Replaces && len(r.Needs) == 0 && r.like != nil {
			text = r.like.ReplaceAllString(text, "")
		}
	}
	return text
}

// Advice returns the text of the first row that matches a failure, "" if none does.
func (t *Table) Advice(f Failure) string {
	for _, r := range t.Rows {
		if r.Replaces {
			continue
		}
		if values, ok := r.matches(f); ok {
			return t.fill(r.Says, values)
		}
	}
	return ""
}

// Text returns one of the texts that rows share.
func (t *Table) Text(name string) string { return t.fill(t.Texts[name], nil) }

// matches reports whether a row does, and returns the values for its text.
func (r *Row) matches(f Failure) (Values, bool) {
	types, not := strings.CutPrefix(r.Type, "!")
	if types != "" && slices.Contains(strings.Fields(types), f.Type) == not || r.Is != nil && *r.Is != f.Message ||
		!strings.HasPrefix(f.Message, r.Begins) || !strings.Contains(f.Message, r.Has) || !strings.HasSuffix(f.Message, r.End) {
		return nil, false
	}
	values := Values{}
	for _, part := range []struct {
		expr *regexp.Regexp
		text string
	}{{r.like, f.Message}, {r.traceback, f.Traceback}, {r.last, Last(f.Traceback)}, {r.source, f.Source}} {
		if !values.capture(part.expr, part.text) {
			return nil, false
		}
	}
	for _, need := range r.Needs {
		text, not := strings.CutPrefix(need, "!")
		name, argument, _ := strings.Cut(text, " ")
		if holds := f.Needs[name]; holds == nil || holds(fill(argument, values), values) == not {
			return nil, false
		}
	}
	return values, true
}

// capture adds what an expression, if there is one, captures of a text by name.
func (v Values) capture(expr *regexp.Regexp, text string) bool {
	if expr == nil {
		return true
	}
	m := expr.FindStringSubmatch(text)
	for i, name := range expr.SubexpNames() {
		if m != nil && name != "" {
			v[name] = m[i]
		}
	}
	return m != nil
}

// replace returns a message with a text for what the row has found.
func (r *Row) replace(message, text string) string {
	if r.like != nil {
		return r.like.ReplaceAllLiteralString(message, text)
	}
	return strings.ReplaceAll(message, r.Begins+r.Has, text)
}

// Captures returns what stands for each * in the part of a text that has a form, nil if there is
// none. A form that begins with ^ begins the text, and its last * goes up to a blank.
func Captures(text, form string) []string {
	form, begins := strings.CutPrefix(form, "^")
	parts := strings.Split(form, "*")
	before, rest, ok := strings.Cut(text, parts[0])
	if !ok || begins && before != "" {
		return nil
	}
	found := []string{}
	for i, part := range parts[1:] {
		if part == "" && i == len(parts)-2 {
			return append(found, rest[:strings.IndexAny(rest+" ", " \t\n")])
		}
		if before, rest, ok = strings.Cut(rest, part); !ok {
			return nil
		}
		found = append(found, before)
	}
	return found
}

// Last returns the end of a traceback of Python, from the line that raised.
func Last(traceback string) string {
	if at := besides.FindStringIndex(traceback); at != nil {
		traceback = traceback[:at[0]]
	}
	return traceback[max(strings.LastIndex(traceback, "\n  File \""), 0):]
}

// besides matches where a traceback goes on with other threads and tasks.
var besides = lazyregexp.New(`(?m)^(?:Thread|Task)s? .*\(most recent call last\):$`)

// fill replaces the placeholders of a text, {name}, by values and by shared texts.
func (t *Table) fill(text string, values Values) string {
	for range 2 { // a shared text may have others
		for name, shared := range t.Texts {
			text = strings.ReplaceAll(text, "{"+name+"}", shared)
		}
	}
	return fill(text, values)
}

func fill(text string, values Values) string {
	pairs := make([]string, 0, 2*len(values))
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
