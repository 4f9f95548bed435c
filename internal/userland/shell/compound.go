package shell

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// condition runs statements whose failure is an answer.
func (sh *shell) condition(list []*syntax.Stmt) bool {
	sh.quiet++
	sh.stmts(list)
	sh.quiet--
	return sh.status == 0 && !sh.stopped()
}

func (sh *shell) ifClause(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 || sh.condition(c.Cond) { // else begins with the condition's status
			sh.stmts(c.Then)
			return
		}
		if sh.stopped() {
			return
		}
	}
	sh.status = 0
}

// body runs a loop's statements once, and reports whether the loop goes on.
func (sh *shell) body(list []*syntax.Stmt) bool {
	transient := sh.Transient
	sh.loops++
	sh.stmts(list)
	sh.loops--
	sh.Transient = transient
	switch j := &sh.jump; j.kind {
	case breaks, continues:
		kind := j.kind
		if j.count--; j.count > 0 && sh.loops > 0 {
			return false
		}
		*j = jump{}
		return kind == continues
	}
	return !sh.stopped()
}

func (sh *shell) while(c *syntax.WhileClause) {
	status := 0
	for {
		sh.loops++
		ok := sh.condition(c.Cond)
		if sh.loops--; sh.stopped() {
			if sh.jump.kind == breaks || sh.jump.kind == continues {
				if !sh.body(nil) {
					break
				}
				continue
			}
			return
		}
		if ok == c.Until {
			break
		}
		again := sh.body(c.Do)
		if status = sh.status; !again {
			break
		}
	}
	if sh.jump.kind == 0 {
		sh.status = status
	}
}

func (sh *shell) forClause(c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		sh.countingLoop(l, c.Do)
	case *syntax.WordIter:
		if name := l.Name.Value; !parse.ValidName(name) {
			sh.status = sh.fail("`%s': not a valid identifier", name)
			return
		}
		items := sh.state.Params
		if l.InPos.IsValid() {
			var err error
			if items, err = sh.ex.Fields(l.Items); err != nil {
				sh.discard(err)
				return
			}
		}
		if c.Select {
			sh.traceWords("select", l)
			sh.selectLoop(l.Name.Value, items, c.Do)
			return
		}
		sh.status = 0
		for _, s := range items {
			sh.line = sh.lineOf(c.ForPos)
			sh.debugHead(c)
			sh.traceWords("for", l)
			if err := sh.setLoop(l.Name.Value, s); errors.Is(err, vars.ErrReadOnly) {
				sh.report(err)
				sh.status = 1
				return
			} else if err != nil {
				sh.discard(err)
				return
			}
			if !sh.body(c.Do) {
				return
			}
		}
	}
}

// setLoop sets the variable of a for loop. A reference then refers to what the value names.
func (sh *shell) setLoop(name, s string) error {
	if ref, _ := sh.vars.Scope.Find(name); ref != nil && ref.Attrs&vars.NameRef != 0 && parse.ValidName(s) {
		ref.Str, ref.IsSet = s, true
		return nil
	}
	return sh.vars.Set(name, s)
}

func (sh *shell) countingLoop(l *syntax.CStyleLoop, do []*syntax.Stmt) {
	sh.status = 0
	arithm := func(x syntax.ArithmExpr, part int) (int64, bool) {
		n, err := sh.arithmCommand(x, func() string { return loopPart(sh.src, l, x, part) })
		if x == nil {
			return 1, true
		}
		if err != nil {
			sh.status = 1
			sh.reportIn("((", err)
		}
		return n, err == nil
	}
	if _, ok := arithm(l.Init, 0); !ok {
		return
	}
	for {
		if n, ok := arithm(l.Cond, 1); !ok || n == 0 {
			return
		}
		if !sh.body(do) {
			return
		}
		if _, ok := arithm(l.Post, 2); !ok {
			return
		}
	}
}

// selectLoop is select: a menu on stderr, and an answer from stdin.
func (sh *shell) selectLoop(name string, items []string, do []*syntax.Stmt) {
	sh.status = 0
	if len(items) == 0 {
		return
	}
	prompt := cmp.Or(sh.vars.Get("PS3"), "#? ")
	for show := true; ; show = false {
		if show {
			sh.write(2, menu(items))
		}
		sh.write(2, prompt)
		line, err := builtins.ReadLine(face{sh}, 0, '\n')
		if err != nil && line == "" {
			sh.write(2, "\n")
			sh.status = 1
			return
		}
		line = strings.Trim(line, " \t")
		if line == "" {
			sh.write(2, menu(items))
			continue
		}
		choice := ""
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(items) {
			choice = items[n-1]
		}
		if err := cmp.Or(sh.vars.Set("REPLY", line), sh.vars.Set(name, choice)); err != nil {
			sh.report(err)
			sh.status = 1
			return
		}
		if !sh.body(do) {
			return
		}
	}
}

// menu lays items out in columns, as bash does for a terminal of 80.
func menu(items []string) string {
	width, digits := 0, len(strconv.Itoa(len(items)))
	for _, s := range items {
		width = max(width, len(s)+digits+2)
	}
	width += 2
	cols := max(1, 80/width)
	if len(items) < cols {
		cols = 1
	}
	rows := (len(items) + cols - 1) / cols
	if rows == 1 {
		rows, cols = len(items), 1
	}
	var b strings.Builder
	for r := range rows {
		for i := r; i < len(items); i += rows {
			cell := fmt.Sprintf("%*d) %s", digits, i+1, items[i])
			if i+rows < len(items) {
				cell = fmt.Sprintf("%-*s", width, cell)
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (sh *shell) caseClause(c *syntax.CaseClause) {
	if sh.opts.Xtrace {
		sh.trace("case " + sh.src.Of(c.Word) + " in")
	}
	sh.debugHead(c)
	word, err := sh.ex.Literal(c.Word)
	if err != nil {
		sh.discard(err)
		return
	}
	sh.status = 0
	for i := 0; i < len(c.Items); i++ {
		item := c.Items[i]
		if !sh.anyMatches(item.Patterns, word) {
			if sh.stopped() {
				return
			}
			continue
		}
		sh.stmts(item.Stmts)
		for item.Op == syntax.Fallthrough && i+1 < len(c.Items) {
			i++
			item = c.Items[i]
			sh.stmts(item.Stmts)
		}
		if item.Op != syntax.Resume || sh.stopped() {
			return
		}
	}
}

func (sh *shell) anyMatches(patterns []*syntax.Word, s string) bool {
	for _, w := range patterns {
		text, err := sh.ex.Pattern(w)
		if err != nil {
			sh.discard(err)
			return false
		}
		pat, err := sh.ex.Compile(text, sh.opts.Extglob)
		if err != nil {
			sh.discard(err)
			return false
		}
		if pat.Match(sh.ctx, s, sh.opts.Nocasematch) {
			return true
		}
	}
	return false
}

func (sh *shell) let(c *syntax.LetClause) {
	sh.traceLet(c)
	var n int64
	for _, x := range c.Exprs {
		var err error
		if n, err = sh.ex.Number(x); err != nil {
			sh.status = 1
			sh.reportIn("let", err)
			return
		}
	}
	sh.status = int(arith.Truth(n == 0))
}

// time is the keyword: how long a pipeline took, on stderr.
func (sh *shell) time(c *syntax.TimeClause) {
	start, cpu := time.Now(), sh.p.ChildCPU()
	if c.Stmt != nil {
		sh.stmt(c.Stmt)
	}
	took, used := time.Since(start), sh.p.ChildCPU()-cpu
	if c.PosixFormat {
		sh.write(2, fmt.Sprintf("real %.2f\nuser %.2f\nsys 0.00\n", took.Seconds(), used.Seconds()))
		return
	}
	show := func(d time.Duration) string {
		return fmt.Sprintf("%dm%.3fs", int(d.Minutes()), (d % time.Minute).Seconds())
	}
	if format := sh.vars.Lookup("TIMEFORMAT"); format != nil {
		sh.write(2, strings.NewReplacer("%R", fmt.Sprintf("%.3f", took.Seconds()), "%U", fmt.Sprintf("%.3f", used.Seconds()),
			"%S", "0.000", "%lR", show(took), "%lU", show(used), "%lS", "0m0.000s", "%%", "%").Replace(format.Str)+"\n")
		return
	}
	sh.write(2, "\nreal\t"+show(took)+"\nuser\t"+show(used)+"\nsys\t0m0.000s\n")
}
