package expand

import (
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// slice is ${x:offset:length}, also of a list.
func (ex *Expander) slice(p *syntax.ParamExp, v vars.Value) (vars.Value, error) {
	var offset, length int64
	var err error
	if !v.IsSet && !v.Many { // nothing to compute for
		return v, nil
	}
	if p.Slice.Offset != nil {
		if offset, err = ex.Number(p.Slice.Offset); err != nil {
			return v, err
		}
	}
	if p.Slice.Length != nil {
		if length, err = ex.Number(p.Slice.Length); err != nil {
			return v, err
		}
	}
	if v.Many {
		return ex.sliceList(p, v, offset, length)
	}
	var runes []string // with bytes that are not UTF-8
	if len(v.Elems) > 0 {
		if !ex.vars.Room(int64(len(v.Elems[0])) * 16) {
			return v, vars.ErrMemory
		}
		single := ex.Bytes()
		for s := v.Elems[0]; s != ""; {
			_, n := glob.DecodeRune(s)
			if single {
				n = 1
			}
			runes, s = append(runes, s[:n]), s[n:]
		}
	}
	from, to, err := bounds(p, offset, length, int64(len(runes)))
	if err != nil {
		return v, err
	}
	return vars.Value{Name: v.Name, Elems: []string{strings.Join(runes[from:to], "")}, IsSet: v.IsSet}, nil
}

// bounds returns the part of n elements that a slice is. Negative offsets count
// from the end.
func bounds(p *syntax.ParamExp, offset, length, n int64) (from, to int64, err error) {
	if offset < 0 {
		offset += n
	}
	if offset < 0 || offset > n {
		return 0, 0, nil
	}
	if p.Slice.Length == nil {
		return offset, n, nil
	}
	if length < 0 {
		if to = n + length; to < offset {
			return 0, 0, fmt.Errorf("%d: substring expression < 0", length)
		}
		return offset, to, nil
	}
	return offset, offset + min(length, n-offset), nil
}

func (ex *Expander) sliceList(p *syntax.ParamExp, v vars.Value, offset, length int64) (vars.Value, error) {
	list := v.Elems
	name := p.Param.Value
	if name == "@" || name == "*" {
		zero, _ := ex.host.Arguments()
		list = append([]string{zero}, list...)
	} else if a := ex.vars.Lookup(name); a != nil && a.Kind == vars.Indexed && a.List.At != nil && offset >= 0 {
		i, _ := slices.BinarySearch(a.List.At, int(offset))
		offset = int64(i)
	}
	if p.Slice.Length != nil && length < 0 {
		return v, &vars.Error{Msg: strconv.FormatInt(length, 10) + ": substring expression < 0"}
	}
	from, to, err := bounds(p, offset, length, int64(len(list)))
	if err != nil {
		return v, err
	}
	return vars.Value{Elems: list[from:to], Many: true, Star: v.Star, IsSet: v.IsSet}, nil
}

// replace is ${x/pattern/replacement} of every element.
func (ex *Expander) replace(r *syntax.Replace, elems []string) ([]string, error) {
	text, err := ex.Pattern(r.Orig)
	if err != nil {
		return nil, err
	}
	with, err := ex.Field(r.With, false)
	if err != nil {
		return nil, err
	}
	var anchor byte
	if lit, ok := parse.FirstLit(r.Orig); ok && !r.All && lit != "" && (lit[0] == '#' || lit[0] == '%') {
		anchor, text = lit[0], text[1:]
	}
	if text == "" && anchor == 0 {
		return elems, nil
	}
	pat, err := ex.Compile(text, ex.opts.Extglob)
	if err != nil {
		return nil, err
	}
	elems = slices.Clone(elems)
	for i, s := range elems {
		if elems[i], err = ex.substituted(pat, with, s, anchor, r.All); err != nil {
			return nil, err
		}
	}
	return elems, nil
}

func (ex *Expander) substituted(pat glob.Pattern, with Field, s string, anchor byte, all bool) (string, error) {
	if lit, ok := pat.Literal(); ok && !strings.Contains(s, lit) {
		return s, nil
	}
	ctx := ex.host.Context()
	text := vars.Builder{Memory: ex.vars.Memory}
	put := func(match string) {
		for _, p := range with {
			t := p.Text
			for !p.Quoted {
				before, after, found := strings.Cut(t, "&")
				if !found {
					break
				}
				text.Add(before)
				text.Add(match)
				t = after
			}
			text.Add(t)
		}
	}
	switch anchor {
	case '#':
		n := pat.Prefix(ctx, s, true)
		if n < 0 {
			return s, nil
		}
		put(s[:n])
		text.Add(s[n:])
		return text.String()
	case '%':
		n := pat.Suffix(ctx, s, true)
		if n < 0 {
			return s, nil
		}
		text.Add(s[:len(s)-n])
		put(s[len(s)-n:])
		return text.String()
	}
	for i := 0; i < len(s) && !text.Full; {
		n := pat.Prefix(ctx, s[i:], true)
		if n <= 0 {
			_, size := glob.DecodeRune(s[i:])
			text.Add(s[i : i+size])
			i += size
			continue
		}
		put(s[i : i+n])
		if i += n; !all {
			text.Add(s[i:])
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return text.String()
}

// operate is ${x#p}, ${x%p}, ${x^p}, ${x@Q} and the like.
func (ex *Expander) operate(p *syntax.ParamExp, v vars.Value) (vars.Value, error) {
	if p.Exp.Op == syntax.OtherParamOps {
		op, err := ex.Literal(p.Exp.Word)
		if err != nil {
			return v, err
		}
		return ex.transform(p, v, op)
	}
	text, err := ex.Pattern(p.Exp.Word)
	if err != nil {
		return v, err
	}
	upper := unicode.ToUpper
	if rest, ok := strings.CutPrefix(text, parse.Toggled); ok {
		text, upper = rest, toggle
	}
	pat, err := ex.Compile(text, ex.opts.Extglob)
	if err != nil {
		return v, err
	}
	v.Elems = slices.Clone(v.Elems)
	for i, s := range v.Elems {
		switch p.Exp.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			if n := pat.Prefix(ex.host.Context(), s, p.Exp.Op == syntax.RemLargePrefix); n > 0 {
				s = s[n:]
			}
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			if n := pat.Suffix(ex.host.Context(), s, p.Exp.Op == syntax.RemLargeSuffix); n > 0 {
				s = s[:len(s)-n]
			}
		case syntax.UpperFirst, syntax.UpperAll:
			s, err = ex.recase(s, pat, upper, p.Exp.Op == syntax.UpperAll)
		case syntax.LowerFirst, syntax.LowerAll:
			s, err = ex.recase(s, pat, unicode.ToLower, p.Exp.Op == syntax.LowerAll)
		default:
			err = fmt.Errorf("%s: %w", p.Param.Value, ErrSubstitution)
		}
		if err != nil {
			return v, err
		}
		v.Elems[i] = s
	}
	return v, nil
}

// toggle returns a character in its other case.
func toggle(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// recase changes the case of the characters that match pat, an empty one all.
func (ex *Expander) recase(s string, pat glob.Pattern, to func(rune) rune, all bool) (string, error) {
	text := vars.Builder{Memory: ex.vars.Memory}
	for i := 0; i < len(s); {
		r, n := glob.DecodeRune(s[i:])
		if r <= unicode.MaxRune && (i == 0 || all) && (len(pat) == 0 || pat.Match(ex.host.Context(), s[i:i+n], false)) {
			text.Add(string(to(r)))
		} else {
			text.Add(s[i : i+n])
		}
		i += n
	}
	return text.String()
}

// transform is ${x@op}.
func (ex *Expander) transform(p *syntax.ParamExp, v vars.Value, op string) (vars.Value, error) {
	a := ex.vars.Lookup(p.Param.Value)
	switch op {
	case "a":
		letters := ""
		if a != nil {
			letters = a.Letters()
		}
		v.Elems = []string{letters}
		return v, nil
	case "A":
		if a == nil {
			return vars.Value{}, nil
		}
		return vars.Value{Elems: []string{a.Declaration(p.Param.Value, true)}, IsSet: true}, nil
	case "K", "k":
		list := make([]string, 0, 2*len(v.Elems))
		for i, s := range v.Elems {
			if i < len(v.Keys) {
				list = append(list, v.Keys[i], s)
			}
		}
		if op == "K" {
			for i := 1; i < len(list); i += 2 {
				list[i] = quote.Double(list[i])
			}
			text := strings.Join(list, " ")
			if a != nil && a.Kind == vars.Associative && v.IsSet {
				text += " "
			}
			return vars.Value{Elems: []string{text}, IsSet: v.IsSet}, nil
		}
		v.Elems = list
		return v, nil
	}
	if !v.IsSet && op == "Q" {
		v.Elems = nil
		return v, nil
	}
	v.Elems = slices.Clone(v.Elems)
	for i, s := range v.Elems {
		if !ex.vars.Room(4 * int64(len(s))) {
			return v, vars.ErrMemory
		}
		var err error
		switch op {
		case "Q":
			s = quote.Word(s)
		case "E":
			s, _ = quote.Unescape(s, false)
		case "U":
			s = strings.ToUpper(s)
		case "L":
			s = strings.ToLower(s)
		case "u":
			s, err = ex.recase(s, nil, unicode.ToUpper, false)
		case "P":
			s = ex.prompt(s)
		default:
			err = fmt.Errorf("${%s@%s}: %w", p.Param.Value, op, ErrSubstitution)
		}
		if err != nil {
			return v, err
		}
		v.Elems[i] = s
	}
	return v, nil
}
