package expand

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// Piece is a part of a field. Quoted characters are no patterns, and are not
// split.
type Piece struct {
	Text   string
	Quoted bool
}

// Field is one word after splitting, before file names are looked for.
type Field []Piece

// builder collects the fields of words. After an error it does nothing more.
type builder struct {
	ex      *Expander
	split   bool // at IFS; else there is one field
	fields  []Field
	cur     Field
	started bool // cur is a field even if it is empty
	blank   bool // cur began behind white space of IFS
	err     error
}

func (b *builder) fail(err error) {
	b.err = cmp.Or(b.err, err)
}

// Fields expands the words of a command: braces, parameters, commands, splitting
// and file names.
func (ex *Expander) Fields(words []*syntax.Word) ([]string, error) {
	var out []string
	for i, w := range words {
		if lit, ok := plain(w); ok {
			out = append(out, lit)
			continue
		}
		for _, w := range ex.braces(w) {
			b := &builder{ex: ex, split: true}
			b.word(w)
			b.end()
			if b.err != nil {
				named(b.err, func() string { return ex.host.Source().Of(words[i]) })
				return nil, b.err
			}
			for _, f := range b.fields {
				list, err := ex.glob(f)
				if err != nil {
					return nil, err
				}
				out = append(out, list...)
			}
			if !ex.vars.Room(vars.ElementCost) {
				return nil, vars.ErrMemory
			}
		}
	}
	return out, nil
}

// plain returns a word that is nothing but letters.
func plain(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || strings.ContainsAny(lit.Value, "\\*?[{~+@!") {
		return "", false
	}
	return lit.Value, true
}

// Literal expands a word to one string without splitting: what is assigned,
// tested, or a file to redirect to.
func (ex *Expander) Literal(w *syntax.Word) (string, error) {
	return ex.joined(ex.Field(w, false))
}

// AssignedValue expands the value of an assignment, where ~ is also behind a colon.
func (ex *Expander) AssignedValue(w *syntax.Word) (string, error) {
	return ex.joined(ex.Field(w, true))
}

// joined returns the text of a field, which counts where it is not that of its only piece.
func (ex *Expander) joined(f Field, err error) (string, error) {
	if err == nil && len(f) > 1 && !ex.vars.Room(int64(f.size())) {
		err = vars.ErrMemory
	}
	if err != nil {
		return "", err
	}
	return f.String(), nil
}

// Field expands a word to one field; assign: as the value of an assignment.
func (ex *Expander) Field(w *syntax.Word, assign bool) (Field, error) {
	if w == nil {
		return nil, nil
	}
	b := &builder{ex: ex}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && assign {
			b.lit(b.tildes(lit.Value, i == 0, i == len(w.Parts)-1))
			continue
		}
		b.part(p, i == 0, len(w.Parts) == 1)
	}
	named(b.err, func() string { return ex.host.Source().Of(w) })
	return b.cur, b.err
}

// Pattern expands a word to a pattern, in which quoted characters are escaped.
func (ex *Expander) Pattern(w *syntax.Word) (string, error) {
	f, err := ex.Field(w, false)
	if err == nil && !ex.vars.Room(4*int64(f.size())) { // escapes, and what a builder leaves
		err = vars.ErrMemory
	}
	if err != nil {
		return "", err
	}
	return f.Pattern(), nil
}

// Compile compiles a pattern.
func (ex *Expander) Compile(text string, extglob bool) (glob.Pattern, error) {
	if !ex.vars.Room(int64(len(text)) * glob.PatternCost) {
		return nil, vars.ErrMemory
	}
	return glob.Compile(text, extglob), nil
}

// Document expands the body of a here-document.
func (ex *Expander) Document(w *syntax.Word) (string, error) {
	if w == nil {
		return "", nil
	}
	b := &builder{ex: ex}
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.add(quote.Strip(lit.Value, "$`\\\n"), true)
			continue
		}
		b.quoted(p)
	}
	named(b.err, func() string {
		s := ex.host.Source().Of(w) // with the line that ends it
		return s[:strings.LastIndexByte(s, '\n')+1]
	})
	return ex.joined(b.cur, b.err)
}

// size returns how many bytes a field's text has.
func (f Field) size() (n int) {
	for _, p := range f {
		n += len(p.Text)
	}
	return n
}

func (f Field) String() string {
	if len(f) == 1 {
		return f[0].Text
	}
	var s strings.Builder
	s.Grow(f.size())
	for _, p := range f {
		s.WriteString(p.Text)
	}
	return s.String()
}

// Pattern returns f as the text of a pattern.
func (f Field) Pattern() string {
	var s strings.Builder
	for _, p := range f {
		if p.Quoted {
			quote.Escape(&s, p.Text, `*?[]\+@!()|-^`)
		} else {
			s.WriteString(p.Text)
		}
	}
	return s.String()
}

// Escaped returns f with a backslash before each quoted character, as a trace does, or in
// a regular expression before those that mean something.
func (f Field) Escaped(expr bool) string {
	var s strings.Builder
	for _, p := range f {
		if p.Quoted && expr {
			s.WriteString(regexp.QuoteMeta(p.Text))
			continue
		}
		for i := range len(p.Text) {
			if p.Quoted && utf8.RuneStart(p.Text[i]) {
				s.WriteByte('\\')
			}
			s.WriteByte(p.Text[i])
		}
	}
	return s.String()
}

// add adds text to the current field.
func (b *builder) add(s string, quoted bool) {
	if quoted {
		b.started = true
	}
	if s == "" || b.err != nil {
		return
	}
	if !b.ex.vars.Room(int64(len(s))) {
		b.fail(vars.ErrMemory)
		return
	}
	b.started = true
	b.cur = append(b.cur, Piece{s, quoted})
}

// next ends the current field.
func (b *builder) next() {
	b.fields = append(b.fields, b.cur)
	b.cur, b.started = nil, false
	if !b.ex.vars.Room(vars.ElementCost) {
		b.fail(vars.ErrMemory)
	}
}

func (b *builder) end() {
	if b.started {
		b.next()
	}
}

// splitAdd adds the result of an unquoted expansion, split at IFS.
func (b *builder) splitAdd(s string) {
	if !b.split {
		b.add(s, false)
		return
	}
	ifs, set := b.ex.IFS()
	if set && ifs == "" {
		b.add(s, false)
		return
	}
	start := 0
	for i := 0; i < len(s) && b.err == nil; i++ {
		if strings.IndexByte(ifs, s[i]) < 0 {
			if b.blank && i == start {
				b.blank = false
			}
			continue
		}
		b.add(s[start:i], false)
		start = i + 1
		switch {
		case s[i] == ' ' || s[i] == '\t' || s[i] == '\n':
			if b.started {
				b.next()
				b.blank = true
			}
		case b.blank:
			b.blank = false
		default:
			b.next()
		}
	}
	b.add(s[start:], false)
}

// IFS returns IFS, which has a default while it is not set.
func (ex *Expander) IFS() (string, bool) {
	v := ex.vars.Lookup("IFS")
	if v == nil || !v.IsSet {
		return " \t\n", false
	}
	return v.Str, true
}

func (ex *Expander) joiner() string {
	ifs, _ := ex.IFS()
	if ifs == "" {
		return ""
	}
	return ifs[:1]
}

func (b *builder) word(w *syntax.Word) {
	for i, p := range w.Parts {
		b.part(p, i == 0, len(w.Parts) == 1)
	}
}

// part adds a part that is not in double quotes.
func (b *builder) part(p syntax.WordPart, first, only bool) {
	if b.err != nil {
		return
	}
	switch p := p.(type) {
	case *syntax.Lit:
		s := p.Value
		if name, rest, ok := strings.Cut(s, "=~"); first && ok && parse.ValidName(name) {
			b.lit(name + "=")
			s = "~" + rest
		}
		if first {
			s = b.tilde(s, only)
		}
		b.lit(s)
	case *syntax.SglQuoted:
		s := p.Value
		if p.Dollar {
			s, _ = quote.Unescape(s, false)
			s, _, _ = strings.Cut(s, "\x00")
		}
		b.add(s, true)
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			b.add("", true)
		}
		for _, q := range p.Parts {
			b.quoted(q)
		}
		named(b.err, func() string { return strings.TrimSuffix(strings.TrimLeft(b.ex.host.Source().Of(p), "$")[1:], "\"") })
	case *syntax.ParamExp:
		b.param(p, false)
	case *syntax.CmdSubst:
		b.splitAdd(b.command(p))
	case *syntax.ArithmExp:
		b.splitAdd(b.arithmetic(p))
	case *syntax.ProcSubst:
		path, err := b.ex.host.Substitute(p)
		if err != nil {
			b.fail(err)
		}
		b.add(path, true)
	case *syntax.ExtGlob:
		b.extGlob(p)
	default:
		b.fail(fmt.Errorf("%T is not supported", p))
	}
}

// quoted adds a part that is in double quotes.
func (b *builder) quoted(p syntax.WordPart) {
	if b.err != nil {
		return
	}
	switch p := p.(type) {
	case *syntax.Lit:
		b.add(quote.Strip(p.Value, "$`\"\\\n"), true)
	case *syntax.ParamExp:
		b.param(p, true)
	case *syntax.CmdSubst:
		b.add(b.command(p), true)
	case *syntax.ArithmExp:
		b.add(b.arithmetic(p), true)
	default:
		b.part(p, false, false)
	}
}

// lit adds unquoted letters, in which a backslash quotes.
func (b *builder) lit(s string) { b.letters(s, func(s string) { b.add(s, false) }) }

// letters adds those of s that a backslash quotes, and calls plain with the others.
func (b *builder) letters(s string, plain func(string)) {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			plain(s)
			return
		}
		plain(s[:i])
		if s[i+1] != '\n' {
			b.add(s[i+1:i+2], true)
		}
		s = s[i+2:]
	}
}

func (b *builder) arithmetic(p *syntax.ArithmExp) string {
	n, err := b.ex.Number(p.X)
	if err != nil {
		b.fail(err)
	}
	return strconv.FormatInt(n, 10)
}

// command returns the output of a command substitution.
func (b *builder) command(p *syntax.CmdSubst) string {
	if p.TempFile || p.ReplyVar {
		b.fail(fmt.Errorf("${ command; } is not supported: use $(command)"))
		return ""
	}
	s, err := b.ex.host.Output(p)
	if err != nil {
		b.fail(err)
	}
	return s
}
