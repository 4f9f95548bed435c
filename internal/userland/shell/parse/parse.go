// Package parse reads bash's language with mvdan.cc/sh's parser: text in, trees and errors
// in bash's words out. It knows no shell.
//
// Text that bash accepts and that parser does not is rewritten to what it accepts (requote)
// and parsed again, from behind the statements that have run already. Original undoes the
// rewriting where text is shown.
package parse

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"math"
	"runtime"
	"sort"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ErrNesting is the error of a text that nests deeper than the stack may be.
var ErrNesting = errors.New("nested too deeply")

// reader is a text for the parser, which refills a buffer of a kilobyte while it
// recurses as deep as the text nests: so the depth of the call stack is looked at there.
type reader struct {
	s     string
	limit int // of frames; 0 until the first chunk is read
}

// maxFrames bounds the frames of the parser, some 10 MB: what is left of a goroutine's
// stack beside kernel.MaxStack.
const maxFrames = 20_000

// chunk is at most what the parser reads at once.
const chunk = 512

func (r *reader) Read(p []byte) (int, error) {
	switch {
	case r.s == "":
		return 0, io.EOF
	case r.limit == 0 && len(r.s) > maxFrames/8: // a level of them has a byte at least, and 8 frames at most
		r.limit = frames() + maxFrames
	case r.limit > 0 && runtime.Callers(r.limit, make([]uintptr, 1)) > 0:
		return 0, ErrNesting
	}
	n := copy(p[:min(len(p), chunk)], r.s)
	r.s = r.s[n:]
	return n, nil
}

// frames returns how many frames the call stack has, to about a thousand.
func frames() int {
	var pc [1]uintptr
	low, high := 0, 1024
	for runtime.Callers(high, pc[:]) > 0 {
		low, high = high, 2*high
	}
	for high-low > 1024 {
		if mid := (low + high) / 2; runtime.Callers(mid, pc[:]) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// Source is a text that was parsed, for positions in it.
type Source struct {
	Text  string
	asked string // the text before requote, "" if that is the same
	Name  string // of the file, "" for -c and eval
	First int    // line of the shell at which it begins
	added []int  // lines that endDocument put into it, in their order
	ended uint   // the last place of a here-document that endDocument ended
	Open  string // what endDocument said of it
	Opens int    // its line
}

// Line returns which line of the source as it was a line of the text is.
func (s *Source) Line(n int) int {
	return n - sort.SearchInts(s.added, n+1)
}

// Rewritten reports whether the parser read another text than the one that was given.
func (s *Source) Rewritten() bool { return s.asked != "" }

// LineOf returns the line of the shell of a position.
func (s *Source) LineOf(pos syntax.Pos) int { return s.Line(int(pos.Line())) + s.First - 1 }

// Of returns the text of a node.
func (s *Source) Of(n syntax.Node) string {
	if w, ok := n.(*syntax.Word); ok && len(w.Parts) == 0 {
		return ""
	}
	return s.between(n.Pos().Offset(), n.End().Offset())
}

// Between returns the text after a two-byte opening to its end.
func (s *Source) Between(open, end syntax.Pos) string {
	return s.between(open.Offset()+2, end.Offset())
}

// between returns a part of the text, as it was given.
func (s *Source) between(from, to uint) string {
	if from >= to || int(to) > len(s.Text) {
		return ""
	}
	return Original(s.Text[from:to])
}

// BlanksBehind returns the blanks before the parenthesis that ends an expression, which bash
// shows with it.
func (s *Source) BlanksBehind(x syntax.ArithmExpr) string {
	to := int(x.End().Offset())
	if to >= len(s.Text) {
		return ""
	}
	rest := s.Text[to:]
	after := strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(after, ")") {
		return ""
	}
	return rest[:len(rest)-len(after)]
}

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// File parses a whole script, of which nothing runs.
func File(s string) (*syntax.File, error) {
	f, err := newParser().Parse(&reader{s: s}, "")
	if err == nil && len(s) > maxDepth && tooDeep(f) {
		return nil, ErrNesting
	}
	return f, err
}

// Document parses a text as the body of a here-document.
func Document(s string) (*syntax.Word, error) {
	w, err := newParser().Document(&reader{s: s})
	if err == nil && len(s) > maxDepth && w != nil && tooDeep(w) {
		return nil, ErrNesting
	}
	return w, err
}

// Words parses a text as words that blanks separate.
func Words(s string) iter.Seq2[*syntax.Word, error] { return newParser().WordsSeq(&reader{s: s}) }

// Dialect is what a shell's options and aliases make of the language, line by line.
type Dialect interface {
	// Aliases returns the aliases to replace, nil for none.
	Aliases() map[string]string
	// ExtGlob reports whether extended operators are on.
	ExtGlob() bool
	// Warn is told of a here-document that nothing ended, at a line.
	Warn(line int, text string)
}

// Statements calls f with each statement of the text, as soon as the lines that it
// stands on are parsed, until f returns false: then its here-documents are known, too.
// Chains of operators deeper than the stack may be are refused.
func (s *Source) Statements(d Dialect, f func(*syntax.Stmt) bool) error {
	r := &reading{src: s, dialect: d, f: f, branches: strings.Contains(s.Text, "else"), extended: hasExtended(s.Text)}
	for range maxQuoted {
		r.failed, r.line = nil, nil
		// Not by range: StmtsSeq yields its error even to a loop that has ended.
		newParser().StmtsSeq(&reader{s: s.Text})(r.statement)
		if n := len(r.line); n > 0 && (r.failed == nil || errorLine(r.failed) > r.line[n-1].End().Line()) {
			r.run()
		}
		if r.ended {
			return nil
		}
		if s.endDocument(d, r.failed) {
			continue
		}
		text, ok := requote(s.Text, r.failed)
		if !ok {
			return r.failed
		}
		s.asked = cmp.Or(s.asked, s.Text)
		s.Text = text
	}
	return ErrNesting
}

// reading is a text whose statements are parsed and run line by line.
type reading struct {
	src                *Source
	dialect            Dialect
	f                  func(*syntax.Stmt) bool
	branches, extended bool           // the text may have an else, an extended operator
	next               uint           // what is before was run
	line               []*syntax.Stmt // that are parsed and not run yet
	ended              bool           // f returned false
	failed             error
}

// statement takes a statement of the parser, and reports whether it wants more.
func (r *reading) statement(st *syntax.Stmt, err error) bool {
	switch {
	case r.ended || r.failed != nil:
	case err != nil:
		r.failed = err
	case r.src.tooDeep(st):
		r.failed = ErrNesting
	case st.Pos().Offset() < r.next:
		return true
	default:
		if r.failed = bareBody(st); r.failed == nil && r.branches {
			r.failed = strayElse(st)
		}
		if r.failed != nil {
			return false
		}
		if n := len(r.line); n > 0 && st.Pos().Line() > r.line[n-1].End().Line() {
			if r.run(); r.failed != nil {
				return false
			}
		}
		r.line = append(r.line, st)
	}
	return !r.ended && r.failed == nil
}

// run runs the statements of a line.
func (r *reading) run() {
	if err := refused(r.dialect, r.line, r.extended); err != nil && !r.ended {
		r.failed, r.line = err, r.line[:0]
		return
	}
	for _, st := range r.line {
		if r.next = st.Pos().Offset() + 1; !r.ended {
			r.ended = !r.f(st)
		}
	}
	r.line = r.line[:0]
}

// strayElse returns the error of an else without if, which the parser takes for a
// command.
func strayElse(st *syntax.Stmt) (err error) {
	syntax.Walk(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Assigns) == 0 && len(c.Args) > 0 && c.Args[0].Lit() == "else" {
			err = syntax.ParseError{Pos: c.Pos(), Text: "`else` can only be used in an `if`"}
		}
		return err == nil
	})
	return err
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

// maxDepth bounds the nodes of a tree within one another. The parser reads chains of
// operators and of elif without recursion into trees as deep as they are long.
const maxDepth = 20_000

// tooDeep reports whether the tree of a part of the text is.
func (s *Source) tooDeep(n syntax.Node) bool { return len(s.Text) > maxDepth && tooDeep(n) }

func tooDeep(n syntax.Node) (deep bool) {
	depth := 0
	syntax.Walk(n, func(n syntax.Node) bool {
		if depth++; n == nil {
			depth -= 2
		}
		deep = deep || depth > maxDepth
		return !deep
	})
	return deep
}

// Arithmetic parses the text of an arithmetic expression.
func Arithmetic(s string) (syntax.ArithmExpr, error) {
	x, err := newParser().Arithmetic(&reader{s: s + "\n"})
	if err == nil && x == nil {
		err = errors.New("empty")
	}
	if err == nil && len(s) > maxDepth && tooDeep(x) {
		err = ErrNesting
	}
	return x, err
}

// Word parses a text as one word, in which spaces are letters.
func Word(s string) (*syntax.Word, error) {
	if !strings.ContainsAny(s, "$`'\"\\") {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}, nil
	}
	var word *syntax.Word
	for w, err := range Words(strings.NewReplacer("|", `\|`, "(", `\(`, ")", `\)`, " ", `\ `).Replace(s) + "\n") {
		if err != nil {
			return nil, err
		}
		word = w
	}
	return word, nil
}

// Incomplete reports whether a text is the beginning of statements that go on in the
// next line.
func Incomplete(text string) bool {
	for _, err := range newParser().StmtsSeq(&reader{s: text}) {
		var pe syntax.ParseError
		if errors.As(err, &pe) {
			_, open := unclosed(pe.Text)
			return open || pe.Incomplete || strings.Contains(pe.Text, "EOF") || strings.Contains(pe.Text, "unclosed here-document") ||
				strings.Contains(pe.Text, "must be followed by") && int(pe.Pos.Offset())+len(strings.Fields(text[pe.Pos.Offset():])[0]) >= len(strings.TrimSpace(text))
		}
	}
	return strings.HasSuffix(text, "\\\n")
}

// CutSubscript splits name[sub].
func CutSubscript(s string) (name, sub string, ok bool) {
	i := strings.IndexByte(s, '[')
	if i <= 0 || !strings.HasSuffix(s, "]") || !ValidName(s[:i]) {
		return s, "", false
	}
	return s[:i], s[i+1 : len(s)-1], true
}

// ValidName reports whether a text can be the name of a variable.
func ValidName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
