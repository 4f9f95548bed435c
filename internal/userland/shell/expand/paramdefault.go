package expand

import (
	"cmp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// otherwise adds ${x:-w}, ${x:=w}, ${x:?w} and ${x:+w}.
func (b *builder) otherwise(p *syntax.ParamExp, v vars.Value, quoted bool) {
	op := p.Exp.Op
	have := v.IsSet
	switch op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		have = v.IsSet && strings.Join(v.Elems[:min(2, len(v.Elems))], " ") != ""
	}
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if have {
			b.operand(p.Exp.Word, quoted)
		} else if quoted && !v.Many {
			b.add("", true)
		}
		return
	}
	if have {
		b.emit(v, quoted)
		return
	}
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		b.operand(p.Exp.Word, quoted)
		return
	}
	s, err := b.ex.Literal(p.Exp.Word)
	switch {
	case err != nil:
	case op == syntax.ErrorUnset:
		err = &vars.Error{Msg: strings.TrimPrefix(v.Name, "$") + ": " + cmp.Or(s, "parameter not set"), Fatal: true}
	case op == syntax.ErrorUnsetOrNull:
		err = &vars.Error{Msg: strings.TrimPrefix(v.Name, "$") + ": " + cmp.Or(s, "parameter null or not set"), Fatal: true}
	case !parse.ValidName(p.Param.Value):
		err = &vars.Error{Msg: v.Name + ": cannot assign in this way", Fatal: true}
	case p.Index != nil:
		err = b.ex.AssignIndex(p.Param.Value, p.Index, s, false)
	default:
		err = b.ex.vars.Set(p.Param.Value, s)
	}
	if err != nil {
		b.fail(err)
		return
	}
	b.emit(vars.Value{Elems: []string{s}}, quoted)
}

// operand adds the word behind an operator. Letters in it are split as the
// results of expansions are.
func (b *builder) operand(w *syntax.Word, quoted bool) {
	if w == nil {
		if quoted {
			b.add("", true)
		}
		return
	}
	for i, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		switch {
		case quoted && ok:
			b.add(quote.Strip(lit.Value, "$`\"\\\n}"), true)
		case quoted:
			if q, ok := p.(*syntax.SglQuoted); ok && !q.Dollar {
				b.singleQuoted(q.Value)
				continue
			}
			b.quoted(p)
		case ok:
			s := lit.Value
			if i == 0 {
				s = b.tilde(s, len(w.Parts) == 1)
			}
			b.letters(s, b.splitAdd)
		default:
			b.part(p, false, false)
		}
	}
}

// singleQuoted adds what stands in single quotes behind an operator in double quotes, where
// they quote nothing.
func (b *builder) singleQuoted(s string) {
	b.add("'", true)
	if w, err := parse.Document(s); strings.ContainsAny(s, "$`\\") && err == nil {
		for _, p := range w.Parts {
			b.quoted(p)
		}
	} else {
		b.add(s, true)
	}
	b.add("'", true)
}
