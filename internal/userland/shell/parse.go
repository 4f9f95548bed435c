package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFrames bounds the parser's call stack: it recurses as deep as the text
// nests, and a goroutine whose stack is full takes the whole server with it.
const maxFrames = 20_000

var errNesting = errors.New("nested too deeply")

// watched is a text for the parser, which refills a buffer of a kilobyte while
// it recurses: so the depth is looked at there.
type watched struct{ s string }

// chunk is at most what the parser reads at once.
const chunk = 512

func (w *watched) Read(p []byte) (int, error) {
	var pc [1]uintptr
	if runtime.Callers(maxFrames, pc[:]) > 0 {
		return 0, errNesting
	}
	if w.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), chunk)], w.s)
	w.s = w.s[n:]
	return n, nil
}

// source is a text that was parsed, for positions in it.
type source struct {
	text  string
	asked string // the text before requote, "" if that is the same
	name  string // of the file, "" for -c and eval
	first int    // line of the shell at which it begins
	added []int  // lines that endDocument put into it, in their order
	ended uint   // the last place of a here-document that endDocument ended
	open  string // what endDocument said of it
	opens int    // its line
}

// line returns which line of the source as it was a line of the text is.
func (s *source) line(n int) int {
	return n - sort.SearchInts(s.added, n+1)
}

// lineOf returns the line of a position of the text that is executed.
func (sh *shell) lineOf(pos syntax.Pos) int {
	if !pos.IsValid() {
		return sh.line
	}
	return sh.src.line(int(pos.Line())) + sh.src.first - 1
}

// sourceOf returns the text of a node.
func (sh *shell) sourceOf(n syntax.Node) string {
	if w, ok := n.(*syntax.Word); ok && len(w.Parts) == 0 {
		return ""
	}
	from, to := n.Pos().Offset(), n.End().Offset()
	if from >= to || int(to) > len(sh.src.text) {
		return ""
	}
	return original(sh.src.text[from:to])
}

// sourceBetween returns the text after a two-byte opening to its end.
func (sh *shell) sourceBetween(open, end syntax.Pos) string {
	from, to := open.Offset()+2, end.Offset()
	if from >= to || int(to) > len(sh.src.text) {
		return ""
	}
	return original(sh.src.text[from:to])
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// statements calls f with each statement of a text, as soon as the lines that it
// stands on are parsed, until f returns false: then its here-documents are known, too.
// Chains of operators deeper than the stack may be are refused.
func (sh *shell) statements(src *source, f func(*syntax.Stmt) bool) error {
	next := uint(0) // what is before was run
	branches, extended := strings.Contains(src.text, "else"), hasExtended(src.text)
	for range maxQuoted {
		var failed error
		var line []*syntax.Stmt
		ended := false
		run := func() {
			if err := sh.refused(line, extended); err != nil && !ended {
				failed, line = err, line[:0]
				return
			}
			for _, st := range line {
				if next = st.Pos().Offset() + 1; !ended {
					ended = !f(st)
				}
			}
			line = line[:0]
		}
		// Not by range: StmtsSeq yields its error even to a loop that has ended.
		newParser().StmtsSeq(&watched{src.text})(func(st *syntax.Stmt, err error) bool {
			switch {
			case ended || failed != nil:
			case err != nil:
				failed = err
			case chained(st) > maxChain:
				failed = errNesting
			case st.Pos().Offset() < next:
				return true
			case bareBody(st) != nil:
				failed = bareBody(st)
				return false
			default:
				if branches {
					if failed = strayElse(st); failed != nil {
						return false
					}
				}
				if n := len(line); n > 0 && st.Pos().Line() > line[n-1].End().Line() {
					if run(); failed != nil {
						return false
					}
				}
				line = append(line, st)
			}
			return !ended && failed == nil
		})
		if n := len(line); n > 0 && (failed == nil || errorLine(failed) > line[n-1].End().Line()) {
			run()
		}
		if ended {
			return nil
		}
		if sh.endDocument(src, failed) {
			continue
		}
		text, ok := requote(src.text, failed)
		if !ok {
			return earlierElse(src.text, failed)
		}
		src.asked = cmp.Or(src.asked, src.text)
		src.text = text
	}
	return errNesting
}

// bareBody returns the error of a function whose body is a simple command, which the
// parser takes.
func bareBody(st *syntax.Stmt) error {
	f, ok := st.Cmd.(*syntax.FuncDecl)
	if !ok || f.Name == nil || f.Body == nil {
		return nil
	}
	switch f.Body.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause:
		return syntax.ParseError{Pos: f.Body.Pos(), Text: "`" + f.Name.Value + "` can only be followed by a compound command"}
	}
	return nil
}

// errorLine returns the line of an error of the parser.
func errorLine(err error) uint {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		return pe.Pos.Line()
	}
	if le, ok := errors.AsType[syntax.LangError](err); ok {
		return le.Pos.Line()
	}
	return math.MaxUint
}

// maxChain bounds the operators of one list or pipeline, which the parser reads
// without recursion into a tree as deep as they are many.
const maxChain = 10_000

func chained(st *syntax.Stmt) (n int) {
	for ; st != nil; n++ {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return n
		}
		st = b.X
	}
	return n
}

// parseArithm parses the text of an arithmetic expression.
func (sh *shell) parseArithm(s string) (syntax.ArithmExpr, error) {
	x, err := newParser().Arithmetic(&watched{s + "\n"})
	if err == nil && x == nil {
		err = errors.New("empty")
	}
	return x, err
}

// parseWord parses a text as one word, in which spaces are letters.
func (sh *shell) parseWord(s string) (*syntax.Word, error) {
	if !strings.ContainsAny(s, "$`'\"\\") {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}, nil
	}
	var word *syntax.Word
	for w, err := range newParser().WordsSeq(&watched{strings.NewReplacer("|", `\|`, "(", `\(`, ")", `\)`, " ", `\ `).Replace(s) + "\n"}) {
		if err != nil {
			return nil, err
		}
		word = w
	}
	return word, nil
}

// syntaxError returns an error of the parser in bash's words, where the text is
// the one that it is about.
func (sh *shell) syntaxError(prefix, text string, err error) string {
	var pe syntax.ParseError
	if !errors.As(err, &pe) {
		if errors.Is(err, errNesting) {
			return fmt.Sprintf("%s: syntax error: %v\n", prefix, err)
		}
		return fmt.Sprintf("%s: %v\n", prefix, err)
	}
	first := sh.src.first - 1
	pe = behindOperator(withoutDo(pe, text), text)
	line := int(pe.Pos.Line())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	at := func(line int) string { return fmt.Sprintf("%s: line %d: ", prefix, sh.src.line(line)+first) }
	if messages, _, ok := conditionErrors(text, pe); ok {
		said := ""
		for _, m := range messages {
			said += at(1+strings.Count(text[:m.at], "\n")) + original(m.text) + "\n"
		}
		return said
	}
	if quote, ok := unclosed(pe.Text); ok {
		return at(line) + "unexpected EOF while looking for matching `" + quote + "'\n"
	}
	if strings.HasPrefix(pe.Text, "reached EOF without matching `$(`") {
		return at(len(lines)+1) + "unexpected EOF while looking for matching `)'\n"
	}
	if quote, ok := unclosedExpansion(pe, text); ok {
		return at(line) + "unexpected EOF while looking for matching `" + quote + "'\n"
	}
	if pe.Incomplete || strings.Contains(pe.Text, "reached EOF") {
		return at(len(lines)+1) + "syntax error: unexpected end of file\n"
	}
	shown, asked := "", line
	if sh.src.asked != "" {
		lines, asked = strings.Split(sh.src.asked, "\n"), sh.src.line(line)
	}
	if asked > 0 && asked <= len(lines) {
		shown = lines[asked-1]
	}
	if token := unexpected(pe, text); token != "" {
		return at(line) + "syntax error near unexpected token `" + token + "'\n" + at(line) + "`" + shown + "'\n"
	}
	return at(line) + "syntax error: " + strings.ReplaceAll(pe.Text, "`", "'") + "\n" + at(line) + "`" + shown + "'\n"
}

// unclosed returns the quote that the parser did not find.
func unclosed(msg string) (string, bool) {
	for _, q := range []string{"\"", "'", "`"} {
		if strings.Contains(msg, "without closing quote `"+q+"`") || q == "`" && strings.Contains(msg, "without closing quote \"`\"") {
			return q, true
		}
	}
	if strings.Contains(msg, "without matching `(` with `)`") {
		return ")", true
	}
	if strings.Contains(msg, "without matching `${` with `}`") {
		return "}", true
	}
	return "", false
}

// unclosedExpansion returns what bash looks for in vain behind a ${x that has no brace: its
// end, or that of the quotes that are taken for the beginning of others.
func unclosedExpansion(pe syntax.ParseError, text string) (string, bool) {
	at := int(pe.Pos.Offset())
	if !strings.HasPrefix(pe.Text, "not a valid parameter expansion operator") || at >= len(text) {
		return "", false
	}
	if text[at] == '"' || text[at] == '\'' {
		return text[at : at+1], true
	}
	return "}", true
}

// withoutDo moves the error of a for or select without do from its beginning to what
// stands where do should, which is what bash names.
func withoutDo(pe syntax.ParseError, text string) syntax.ParseError {
	start := pe.Pos
	if !strings.HasSuffix(pe.Text, "must be followed by `do`") || start.Offset() > uint(len(text)) {
		return pe
	}
	recovering := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(1))
	file, _ := recovering.Parse(&watched{text[start.Offset():]}, "")
	if file == nil || len(file.Stmts) == 0 {
		return pe
	}
	loop, ok := file.Stmts[0].Cmd.(*syntax.ForClause)
	if !ok {
		return pe
	}
	at := loop.DonePos
	if len(loop.Do) > 0 {
		at = loop.Do[0].Pos()
	}
	if at.IsValid() && !at.IsRecovered() {
		pe.Pos = syntax.NewPos(start.Offset()+at.Offset(), start.Line()+at.Line()-1, at.Col())
		pe.Text = "can only follow do"
	}
	return pe
}

// behindOperator moves the error of a list or pipeline that does not go on from its operator
// to what follows that, which can be lines below.
func behindOperator(pe syntax.ParseError, text string) syntax.ParseError {
	op, found := strings.CutSuffix(strings.TrimPrefix(pe.Text, "`"), "` must be followed by a statement")
	at := int(pe.Pos.Offset()) + len(op)
	if !found || !slices.Contains([]string{"|", "|&", "&&", "||"}, op) || at > len(text) {
		return pe
	}
	for at < len(text) && strings.IndexByte(" \t\n#", text[at]) >= 0 {
		if text[at] == '#' {
			at += strings.IndexByte(text[at:]+"\n", '\n') - 1
		}
		at++
	}
	if at < len(text) {
		pe.Pos = syntax.NewPos(uint(at), 1+uint(strings.Count(text[:at], "\n")), 1)
		pe.Text = "can only follow a command"
	}
	return pe
}

// unexpected returns the token that bash would name: the one at the error's
// place, or behind what needs something to follow.
func unexpected(pe syntax.ParseError, text string) string {
	offset := int(pe.Pos.Offset())
	if offset > len(text) {
		return ""
	}
	rest := text[offset:]
	if left, _, ok := strings.Cut(pe.Text, " must be followed by "); ok {
		left = strings.Trim(left, "`\"")
		if left == "foo(" { // whatever the name is
			_, rest, _ = strings.Cut(rest, "(")
		}
		rest = strings.TrimPrefix(rest, strings.Fields(left + " ")[0])
	} else if !strings.Contains(pe.Text, "statements must be separated") && !strings.Contains(pe.Text, "can only") && !strings.Contains(pe.Text, "is not a valid start") && !strings.Contains(pe.Text, "can only contain words") {
		return ""
	}
	rest = strings.TrimLeft(rest, " \t")
	if rest == "" || rest[0] == '\n' {
		return "newline"
	}
	for _, op := range []string{"&&", "||", ";;", "|&", "&>", "<<", ">>", "((", ";", "&", "|", "(", ")", "<", ">", "{", "}"} {
		if strings.HasPrefix(rest, op) {
			return op
		}
	}
	if i := strings.IndexByte(rest[1:], rest[0]); i >= 0 && strings.IndexByte("\"'", rest[0]) >= 0 {
		return rest[:i+2]
	}
	return rest[:strings.IndexAny(rest+"\n", " \t\n;&|()<>")]
}

// Incomplete reports whether a text is the beginning of statements that go on in the
// next line.
func Incomplete(text string) bool {
	for _, err := range newParser().StmtsSeq(&watched{text}) {
		var pe syntax.ParseError
		if errors.As(err, &pe) {
			_, open := unclosed(pe.Text)
			return open || pe.Incomplete || strings.Contains(pe.Text, "EOF") || strings.Contains(pe.Text, "unclosed here-document") ||
				strings.Contains(pe.Text, "must be followed by") && int(pe.Pos.Offset())+len(strings.Fields(text[pe.Pos.Offset():])[0]) >= len(strings.TrimSpace(text))
		}
	}
	return strings.HasSuffix(text, "\\\n")
}
