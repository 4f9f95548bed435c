package shell

import (
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/shell/vars"
)

// glob returns the file names that a field matches, or the field's text.
func (sh *shell) glob(f field) ([]string, error) {
	text := f.String()
	if sh.opts.Noglob || !f.mayMatch(sh.opts.Extglob) {
		return []string{text}, nil
	}
	pat := f.pattern()
	if !glob.HasMeta(pat, sh.opts.Extglob) {
		return []string{text}, nil
	}
	list := sh.acceptable(sh.paths(pat))
	switch {
	case len(list) > 0:
		return list, nil
	case sh.opts.Failglob:
		return nil, &vars.Error{Msg: "no match: " + text}
	case sh.opts.Nullglob:
		return nil, nil
	}
	return []string{text}, nil
}

// acceptable returns the names that no pattern of GLOBIGNORE matches, component by component.
func (sh *shell) acceptable(list []string) []string {
	ignored := sh.vars.Get("GLOBIGNORE")
	if ignored == "" {
		return list
	}
	var patterns [][]string
	for _, p := range splitIgnored(ignored) {
		patterns = append(patterns, splitPattern(p))
	}
	return slices.DeleteFunc(list, func(name string) bool {
		parts := strings.Split(name, "/")
		return slices.ContainsFunc(patterns, func(pat []string) bool {
			return len(pat) == len(parts) && sh.allMatch(pat, parts)
		})
	})
}

func (sh *shell) allMatch(patterns, parts []string) bool {
	for i, p := range patterns {
		if !glob.Compile(p, sh.opts.Extglob).Match(sh.ctx, parts[i], sh.opts.Nocaseglob) {
			return false
		}
	}
	return true
}

// splitIgnored splits a list at its colons, but not at those of [[:alpha:]].
func splitIgnored(s string) (list []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']':
			depth = max(0, depth-1)
		case s[i] == ':' && depth == 0:
			list, from = append(list, s[from:i]), i+1
		}
	}
	return append(list, s[from:])
}

// mayMatch reports whether an unquoted character can be an operator.
func (f field) mayMatch(ext bool) bool {
	return slices.ContainsFunc(f, func(p piece) bool {
		return !p.quoted && (strings.ContainsAny(p.text, "*?[") || ext && strings.Contains(p.text, "("))
	})
}

// paths returns the paths that match a pattern, sorted.
func (sh *shell) paths(pat string) []string {
	g := &globber{sh: sh, dots: sh.opts.Dotglob || sh.vars.Get("GLOBIGNORE") != ""}
	at := ""
	if strings.HasPrefix(pat, "/") {
		at = "/"
	}
	g.expand(at, splitPattern(strings.TrimLeft(pat, "/")))
	slices.Sort(g.found)
	return slices.Compact(g.found)
}

// splitPattern splits a pattern at its slashes, but not at those in the
// parentheses of an extended operator.
func splitPattern(pat string) (parts []string) {
	depth, start := 0, 0
	for i := 0; i < len(pat); i++ {
		switch pat[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case '/':
			if depth == 0 {
				parts, start = append(parts, pat[start:i]), i+1
			}
		}
	}
	return append(parts, pat[start:])
}

type globber struct {
	sh    *shell
	found []string
	depth int  // of **
	dots  bool // * matches names that begin with a dot
}

// maxGlobDepth bounds the directories that ** descends into.
const maxGlobDepth = 100

// expand looks in the directory at, which ends with a slash or is empty, for what
// matches the rest of a pattern.
func (g *globber) expand(at string, parts []string) {
	sh := g.sh
	if sh.ctx.Err() != nil || len(parts) == 0 {
		return
	}
	part, rest := parts[0], parts[1:]
	switch {
	case part == "" && len(rest) == 0: // a/*/
		if at != "" && sh.files.IsDir(at) {
			g.add(at)
		}
		return
	case part == "":
		g.expand(at, rest)
		return
	case part == "**" && sh.opts.Globstar:
		g.descend(at, rest)
		return
	case !glob.HasMeta(part, sh.opts.Extglob):
		name := at + glob.Unescape(part)
		if len(rest) > 0 {
			g.expand(name+"/", rest)
		} else if _, e := sh.files.Lookup(name, false); e == abi.OK {
			g.add(name)
		}
		return
	}
	compiled := glob.Compile(part, sh.opts.Extglob)
	for _, e := range sh.files.List(sh.ctx, at) {
		if g.hidden(e.Name, part) || !compiled.Match(sh.ctx, e.Name, sh.opts.Nocaseglob) {
			continue
		}
		if len(rest) == 0 {
			g.add(at + e.Name)
		} else if e.Type == abi.DT_DIR || e.Type == abi.DT_LNK && sh.files.IsDir(at+e.Name) {
			g.expand(at+e.Name+"/", rest)
		}
	}
}

// hidden reports whether a name begins with a dot that the pattern has not.
func (g *globber) hidden(name, part string) bool {
	if name == "." || name == ".." {
		return true
	}
	return name[0] == '.' && !g.dots && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, `\.`)
}

// descend matches **: at, and every directory below it.
func (g *globber) descend(at string, rest []string) {
	if g.depth++; g.depth > maxGlobDepth {
		g.depth--
		return
	}
	defer func() { g.depth-- }()
	if len(rest) > 0 {
		g.expand(at, rest)
	} else if at != "" && g.depth == 1 {
		g.add(at)
	}
	for _, e := range g.sh.files.List(g.sh.ctx, at) {
		if g.hidden(e.Name, "") {
			continue
		}
		if len(rest) == 0 {
			g.add(at + e.Name)
		}
		if e.Type == abi.DT_DIR {
			g.descend(at+e.Name+"/", rest)
		}
	}
}

func (g *globber) add(name string) {
	if !g.sh.Room(int64(len(name)) + vars.ElementCost) {
		g.sh.exhausted(vars.ErrMemory)
		return
	}
	g.found = append(g.found, name)
}
