package shell

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// piece is a part of a field. Quoted characters are no patterns, and are not
// split.
type piece struct {
	text   string
	quoted bool
}

// field is one word after splitting, before file names are looked for.
type field []piece

// builder collects the fields of words. After an error it does nothing more.
type builder struct {
	sh      *shell
	split   bool // at IFS; else there is one field
	fields  []field
	cur     field
	started bool // cur is a field even if it is empty
	blank   bool // cur began behind white space of IFS
	nested  int  // parameter expansions within one another
	err     error
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// fields expands the words of a command: braces, parameters, commands, splitting
// and file names.
func (sh *shell) fields(words []*syntax.Word) ([]string, error) {
	var out []string
	for i, w := range words {
		if lit, ok := plain(w); ok {
			out = append(out, lit)
			continue
		}
		for _, w := range sh.braces(w) {
			b := &builder{sh: sh, split: true}
			b.word(w)
			b.end()
			if b.err != nil {
				named(b.err, func() string { return sh.src.Of(words[i]) })
				return nil, b.err
			}
			for _, f := range b.fields {
				list, err := sh.glob(f)
				if err != nil {
					return nil, err
				}
				out = append(out, list...)
			}
			if !sh.Room(vars.ElementCost) {
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

// literal expands a word to one string without splitting: what is assigned,
// tested, or a file to redirect to.
func (sh *shell) literal(w *syntax.Word) (string, error) {
	f, err := sh.field(w, false)
	return f.String(), err
}

// assignedValue expands the value of an assignment, where ~ is also behind a colon.
func (sh *shell) assignedValue(w *syntax.Word) (string, error) {
	f, err := sh.field(w, true)
	return f.String(), err
}

func (sh *shell) field(w *syntax.Word, assign bool) (field, error) {
	if w == nil {
		return nil, nil
	}
	b := &builder{sh: sh}
	for i, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && assign {
			b.lit(b.tildes(lit.Value, i == 0, i == len(w.Parts)-1))
			continue
		}
		b.part(p, i == 0, len(w.Parts) == 1)
	}
	named(b.err, func() string { return sh.src.Of(w) })
	return b.cur, b.err
}

// pattern expands a word to a pattern, in which quoted characters are escaped.
func (sh *shell) pattern(w *syntax.Word) (string, error) {
	f, err := sh.field(w, false)
	return f.pattern(), err
}

// document expands the body of a here-document.
func (sh *shell) document(w *syntax.Word) (string, error) {
	if w == nil {
		return "", nil
	}
	b := &builder{sh: sh}
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			b.add(quote.Strip(lit.Value, "$`\\\n"), true)
			continue
		}
		b.quoted(p)
	}
	named(b.err, func() string {
		s := sh.src.Of(w) // with the line that ends it
		return s[:strings.LastIndexByte(s, '\n')+1]
	})
	return b.cur.String(), b.err
}

func (f field) String() string {
	if len(f) == 1 {
		return f[0].text
	}
	var s strings.Builder
	for _, p := range f {
		s.WriteString(p.text)
	}
	return s.String()
}

// pattern returns f as the text of a pattern.
func (f field) pattern() string {
	var s strings.Builder
	for _, p := range f {
		if p.quoted {
			quote.Escape(&s, p.text, `*?[]\+@!()|-^`)
		} else {
			s.WriteString(p.text)
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
	if !b.sh.Room(int64(len(s))) {
		b.fail(vars.ErrMemory)
		return
	}
	b.started = true
	b.cur = append(b.cur, piece{s, quoted})
}

// next ends the current field.
func (b *builder) next() {
	b.fields = append(b.fields, b.cur)
	b.cur, b.started = nil, false
	if !b.sh.Room(vars.ElementCost) {
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
	ifs, set := b.sh.ifs()
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

// ifs returns IFS, which has a default while it is not set.
func (sh *shell) ifs() (string, bool) {
	v := sh.vars.Lookup("IFS")
	if v == nil || !v.IsSet {
		return " \t\n", false
	}
	return v.Str, true
}

func (sh *shell) joiner() string {
	ifs, _ := sh.ifs()
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
		named(b.err, func() string { return strings.TrimSuffix(strings.TrimLeft(b.sh.src.Of(p), "$")[1:], "\"") })
	case *syntax.ParamExp:
		b.param(p, false)
	case *syntax.CmdSubst:
		b.splitAdd(b.command(p))
	case *syntax.ArithmExp:
		b.splitAdd(b.arithmetic(p))
	case *syntax.ProcSubst:
		path, err := b.sh.substitute(p)
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
func (b *builder) lit(s string) {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			b.add(s, false)
			return
		}
		b.add(s[:i], false)
		if s[i+1] != '\n' {
			b.add(s[i+1:i+2], true)
		}
		s = s[i+2:]
	}
}

func (b *builder) arithmetic(p *syntax.ArithmExp) string {
	n, err := b.sh.arithm(p.X)
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
	s, err := b.sh.output(p)
	if err != nil {
		b.fail(err)
	}
	return s
}

// devNull is what an empty process substitution is.
const devNull = os.DevNull
