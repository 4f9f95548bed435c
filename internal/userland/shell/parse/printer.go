package parse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// printer writes commands as bash's own printer does, for declare -f, type and jobs.
// Words are as they were written.
type printer struct {
	strings.Builder
	src      *Source
	function bool // in a function, where each command has a line
	indent   int
	failed   bool     // there is what it does not know
	docs     []string // here-documents whose text follows the command
}

// Printed returns a statement of the text as jobs shows it.
func (s *Source) Printed(st *syntax.Stmt) (string, bool) {
	p := &printer{src: s}
	p.stmt(st)
	return p.String(), !p.failed
}

// PrintedFunction returns the body of a function as declare -f shows it.
func (s *Source) PrintedFunction(body *syntax.Stmt) (string, bool) {
	p := &printer{src: s, function: true, indent: 4}
	p.WriteString("{ \n    ")
	if block, ok := body.Cmd.(*syntax.Block); ok {
		p.list(block.Stmts)
	} else {
		p.command(body.Cmd)
	}
	p.WriteString("\n}")
	p.redirects(body.Redirs)
	p.WriteString("\n")
	return p.String(), !p.failed
}

func (p *printer) line(s string) {
	p.WriteString("\n" + strings.Repeat(" ", p.indent) + s)
}

// end ends a command that something follows.
func (p *printer) end() {
	if s := p.String(); !strings.HasSuffix(s, "&") && !strings.HasSuffix(s, "\n") {
		p.WriteString(";")
	}
}

func (p *printer) list(list []*syntax.Stmt) {
	for i, st := range list {
		p.stmt(st)
		p.documents()
		switch {
		case i+1 == len(list):
		case st.Background:
			p.WriteString(" ")
		case p.function:
			p.end()
			p.line("")
		default:
			p.WriteString("; ")
		}
	}
}

// body writes the commands within a compound command.
func (p *printer) body(list []*syntax.Stmt) {
	p.indent += 4
	p.line("")
	p.list(list)
	p.indent -= 4
	p.end()
}

func (p *printer) stmt(st *syntax.Stmt) {
	if st.Negated {
		p.WriteString("! ")
	}
	if p.command(st.Cmd); st.Cmd == nil && len(st.Redirs) > 0 {
		s := &printer{src: p.src}
		s.redirects(st.Redirs)
		p.WriteString(strings.TrimPrefix(s.String(), " "))
		p.failed, p.docs = p.failed || s.failed, append(p.docs, s.docs...)
	} else {
		p.redirects(st.Redirs)
	}
	if st.Background {
		p.WriteString(" &")
	}
}

func (p *printer) redirects(list []*syntax.Redirect) {
	for _, r := range list {
		p.WriteString(" ")
		switch {
		case r.N != nil:
			p.WriteString(r.N.Value)
		case r.Op == syntax.DplIn:
			p.WriteString("0")
		case r.Op == syntax.DplOut:
			p.WriteString("1")
		}
		p.WriteString(r.Op.String())
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			p.document(r)
		case syntax.DplIn, syntax.DplOut:
		default:
			p.WriteString(" ")
		}
		p.WriteString(p.src.Of(r.Word))
	}
}

// document keeps the text of a here-document for the end of its command.
func (p *printer) document(r *syntax.Redirect) {
	text := ""
	if r.Hdoc != nil {
		text = p.src.Of(r.Hdoc)
	}
	text = text[:strings.LastIndexByte(text, '\n')+1]
	if r.Op == syntax.DashHdoc {
		text = strings.TrimLeft(strings.ReplaceAll("\n"+text, "\n\t", "\n"), "\n")
	}
	delim := strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(p.src.Of(r.Word))
	p.docs = append(p.docs, text+delim+"\n")
}

// documents writes the here-documents of a command.
func (p *printer) documents() {
	if len(p.docs) > 0 {
		p.WriteString("\n" + strings.Join(p.docs, ""))
		p.docs = nil
	}
}

func (p *printer) words(list []*syntax.Word, between string) {
	for i, w := range list {
		if i > 0 {
			p.WriteString(between)
		}
		p.WriteString(p.src.Of(w))
	}
}

func (p *printer) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		for i, as := range c.Assigns {
			if i > 0 {
				p.WriteString(" ")
			}
			p.WriteString(p.src.Of(as))
		}
		if len(c.Assigns) > 0 && len(c.Args) > 0 {
			p.WriteString(" ")
		}
		p.words(c.Args, " ")
	case *syntax.DeclClause, *syntax.LetClause, *syntax.TestClause, *syntax.ArithmCmd:
		p.WriteString(p.src.Of(c))
	case *syntax.BinaryCmd:
		p.stmt(c.X)
		p.WriteString(" " + c.Op.String() + " ")
		p.stmt(c.Y)
	case *syntax.Subshell:
		p.WriteString("( ")
		p.list(c.Stmts)
		p.WriteString(" )")
	case *syntax.Block:
		p.block(c)
	case *syntax.IfClause:
		p.ifClause(c)
	case *syntax.WhileClause:
		p.WriteString(map[bool]string{true: "until ", false: "while "}[c.Until])
		p.condition(c.Cond)
		p.WriteString("; do")
		p.body(c.Do)
		p.line("done")
	case *syntax.ForClause:
		p.forClause(c)
	case *syntax.CaseClause:
		p.caseClause(c)
	case nil:
	default:
		p.failed = true
	}
}

func (p *printer) block(c *syntax.Block) {
	p.WriteString("{ ")
	if !p.function {
		p.list(c.Stmts)
		p.end()
		p.WriteString(" }")
		return
	}
	p.indent += 4
	p.line("")
	p.list(c.Stmts)
	p.indent -= 4
	p.line("}")
}

// condition writes what stands before then and do.
func (p *printer) condition(list []*syntax.Stmt) {
	if len(list) > 1 && p.function { // its commands are lines of their own
		p.failed = true
	}
	p.list(list)
}

func (p *printer) ifClause(c *syntax.IfClause) {
	p.WriteString("if ")
	p.condition(c.Cond)
	p.WriteString("; then")
	p.body(c.Then)
	switch {
	case c.Else == nil:
	case len(c.Else.Cond) > 0: // elif is an if of its own
		p.line("else")
		p.indent += 4
		p.line("")
		p.ifClause(c.Else)
		p.indent -= 4
		p.end()
	default:
		p.line("else")
		p.body(c.Else.Then)
	}
	p.line("fi")
}

func (p *printer) forClause(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		p.WriteString(map[bool]string{true: "select ", false: "for "}[c.Select] + l.Name.Value)
		if l.InPos.IsValid() {
			p.WriteString(" in ")
			p.words(l.Items, " ")
		} else {
			p.WriteString(` in "$@"`)
		}
		p.WriteString(";")
	case *syntax.CStyleLoop:
		p.WriteString("for ((")
		parts := strings.Split(p.src.Between(l.Lparen, l.Rparen), ";")
		for i, s := range parts {
			if s = strings.TrimLeft(s, " "); strings.TrimSpace(s) == "" {
				s = "1"
			}
			if parts[i] = s; i == len(parts)-1 {
				parts[i] = strings.TrimRight(s, " ")
			}
		}
		p.WriteString(strings.Join(parts, "; ") + "))")
	}
	p.line("do")
	p.body(c.Do)
	p.line("done")
}

func (p *printer) caseClause(c *syntax.CaseClause) {
	p.WriteString("case " + p.src.Of(c.Word) + " in ")
	p.indent += 4
	for _, item := range c.Items {
		p.line("")
		p.words(item.Patterns, " | ")
		p.WriteString(")")
		p.indent += 4
		if len(item.Stmts) > 0 {
			p.line("")
			p.list(item.Stmts)
		} else {
			p.WriteString("\n")
		}
		p.indent -= 4
		p.line(item.Op.String())
	}
	p.indent -= 4
	p.line("esac")
}
