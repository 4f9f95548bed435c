package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
)

// trace writes a line of set -x: to stderr, or BASH_XTRACEFD.
func (sh *shell) trace(s string) {
	if !sh.opts.Xtrace {
		return
	}
	prompt := sh.vars.Get("PS4")
	if w, err := parse.Document(prompt); err == nil && w != nil {
		on, src := sh.opts.Xtrace, sh.src
		sh.src = &parse.Source{Text: prompt, Name: src.Name, First: max(1, sh.line)} // LINENO is the command's
		sh.opts.Xtrace = false
		if expanded, err := sh.ex.Document(w); err == nil {
			prompt = expanded
		}
		sh.opts.Xtrace, sh.src = on, src
	}
	if sh.levels > 0 && prompt != "" {
		prompt = strings.Repeat(prompt[:1], sh.levels) + prompt
	}
	fd := 2
	if n, err := strconv.Atoi(sh.vars.Get("BASH_XTRACEFD")); err == nil && sh.files.FDs[n] != nil {
		fd = n
	}
	sh.write(fd, prompt+s+"\n")
}

// traceCommand shows a command's words.
func (sh *shell) traceCommand(args []string) {
	if !sh.opts.Xtrace {
		return
	}
	words := make([]string, len(args))
	for i, s := range args {
		if words[i] = quote.Traced(s); s == "" {
			words[i] = "''"
		}
	}
	sh.trace(strings.Join(words, " "))
}

// traceAssign shows an assignment of s: its name as it is written.
func (sh *shell) traceAssign(as *syntax.Assign, s string) {
	if !sh.opts.Xtrace {
		return
	}
	name := sh.src.Of(as)
	if as.Value != nil {
		name = sh.src.Text[as.Pos().Offset():as.Value.Pos().Offset()]
	}
	sh.trace(name + quote.Traced(s))
}

// traceArray shows name=(…) with its elements as they are written.
func (sh *shell) traceArray(as *syntax.Assign) {
	if !sh.opts.Xtrace {
		return
	}
	var words []string
	for _, e := range as.Array.Elems {
		if s := sh.src.Of(e); e.Index != nil {
			words = append(words, "["+s)
		} else {
			words = append(words, s)
		}
	}
	sh.trace(sh.src.Text[as.Pos().Offset():as.Array.Lparen.Offset()] + "(" + strings.Join(words, " ") + ")")
}

// traceWords shows the head of for or select, whose words are as they are written.
func (sh *shell) traceWords(command string, l *syntax.WordIter) {
	if !sh.opts.Xtrace {
		return
	}
	s := command + " " + l.Name.Value + " in"
	if !l.InPos.IsValid() {
		s += ` "$@"`
	}
	for _, w := range l.Items {
		s += " " + sh.src.Of(w)
	}
	sh.trace(s)
}

// traceLet shows let. What would run twice is shown as it is written.
func (sh *shell) traceLet(c *syntax.LetClause) {
	if !sh.opts.Xtrace {
		return
	}
	words := []string{"let"}
	for _, x := range c.Exprs {
		s := sh.src.Of(x)
		if !acts(s) {
			for w, err := range parse.Words(s) {
				if err != nil {
					break
				}
				if text, err := sh.ex.Literal(w); err == nil {
					s = text
				}
			}
		}
		words = append(words, s)
	}
	sh.traceCommand(words)
}

// acts reports whether an expansion of a text does more than to return a value.
func acts(s string) bool {
	return strings.Contains(s, "$(") || strings.ContainsAny(s, "`") || strings.Contains(s, "RANDOM")
}

// arithmCommand evaluates ((x)), whose text a trace shows with its expansions made.
// What must not run twice is evaluated from the expanded text, as in bash, but not
// where that text would lose the quotes of a subscript.
func (sh *shell) arithmCommand(x syntax.ArithmExpr, source func() string) (int64, error) {
	if !sh.opts.Xtrace {
		return sh.ex.Number(x)
	}
	s := source()
	once := acts(s)
	if once && strings.Contains(s, "[") {
		sh.trace("(( " + s + " ))")
		return sh.ex.Number(x)
	}
	if strings.ContainsAny(s, "$`") {
		w, err := parse.Document(s)
		if err != nil {
			return sh.ex.Number(x)
		}
		if s, err = sh.ex.Document(w); err != nil {
			return 0, err
		}
	}
	s = strings.ReplaceAll(s, `"`, "")
	sh.trace("(( " + s + " ))")
	if once {
		return sh.ex.Evaluate(s)
	}
	return sh.ex.Number(x)
}

// loopPart returns the text of a part of for ((…;…;…)), 1 for one that is not there.
func loopPart(src *parse.Source, l *syntax.CStyleLoop, x syntax.ArithmExpr, part int) string {
	if x == nil {
		return "1"
	}
	parts := strings.Split(src.Between(l.Lparen, l.Rparen), ";")
	if len(parts) != 3 {
		return src.Of(x)
	}
	return strings.TrimLeft(parts[part], " \t\n")
}
