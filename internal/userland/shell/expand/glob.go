package expand

import (
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/shell/vars"
)

// glob returns the file names that a field matches, or the field's text.
func (ex *Expander) glob(f Field) ([]string, error) {
	text := f.String()
	if ex.opts.Noglob || !f.mayMatch(ex.opts.Extglob) {
		return []string{text}, nil
	}
	pat := f.Pattern()
	if !glob.HasMeta(pat, ex.opts.Extglob) {
		return []string{text}, nil
	}
	list := ex.acceptable(ex.Paths(pat))
	switch {
	case len(list) > 0:
		return list, nil
	case ex.opts.Failglob:
		return nil, &vars.Error{Msg: "no match: " + text}
	case ex.opts.Nullglob:
		return nil, nil
	}
	return []string{text}, nil
}

// acceptable returns the names that no pattern of GLOBIGNORE matches, component by component.
func (ex *Expander) acceptable(list []string) []string {
	ignored := ex.vars.Get("GLOBIGNORE")
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
			return len(pat) == len(parts) && ex.allMatch(pat, parts)
		})
	})
}

func (ex *Expander) allMatch(patterns, parts []string) bool {
	for i, p := range patterns {
		if !glob.Compile(p, ex.opts.Extglob).Match(ex.host.Context(), parts[i], ex.opts.Nocaseglob) {
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
func (f Field) mayMatch(ext bool) bool {
	return slices.ContainsFunc(f, func(p Piece) bool {
		return !p.Quoted && (strings.ContainsAny(p.Text, "*?[") || ext && strings.Contains(p.Text, "("))
	})
}

// Paths returns the paths that match a pattern, sorted.
func (ex *Expander) Paths(pat string) []string {
	g := &globber{ex: ex, dots: ex.opts.Dotglob || ex.vars.Get("GLOBIGNORE") != ""}
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
	ex    *Expander
	found []string
	depth int  // of **
	dots  bool // * matches names that begin with a dot
}

// maxGlobDepth bounds the directories that ** descends into.
const maxGlobDepth = 100

// expand looks in the directory at, which ends with a slash or is empty, for what
// matches the rest of a pattern.
func (g *globber) expand(at string, parts []string) {
	if g.ex.host.Context().Err() != nil || len(parts) == 0 || !g.ex.Stack().Enter(frame) {
		return
	}
	defer g.ex.Stack().Leave(frame)
	for parts[0] == "" && len(parts) > 1 {
		parts = parts[1:]
	}
	part, rest := parts[0], parts[1:]
	switch {
	case part == "": // a/*/
		if at != "" && g.ex.files.IsDir(at) {
			g.add(at)
		}
		return
	case part == "**" && g.ex.opts.Globstar:
		g.descend(at, rest)
		return
	case !glob.HasMeta(part, g.ex.opts.Extglob):
		name := at + glob.Unescape(part)
		if len(rest) > 0 {
			g.expand(name+"/", rest)
		} else if _, e := g.ex.files.Lookup(name, false); e == abi.OK {
			g.add(name)
		}
		return
	}
	compiled := glob.Compile(part, g.ex.opts.Extglob)
	for _, e := range g.ex.files.List(g.ex.host.Context(), at) {
		if g.hidden(e.Name, part) || !compiled.Match(g.ex.host.Context(), e.Name, g.ex.opts.Nocaseglob) {
			continue
		}
		if len(rest) == 0 {
			g.add(at + e.Name)
		} else if e.Type == abi.DT_DIR || e.Type == abi.DT_LNK && g.ex.files.IsDir(at+e.Name) {
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
	for _, e := range g.ex.files.List(g.ex.host.Context(), at) {
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
	if !g.ex.vars.Room(int64(len(name)) + vars.ElementCost) {
		g.ex.host.Exhausted(vars.ErrMemory)
		return
	}
	g.found = append(g.found, name)
}
