package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/userland/shell/parse"
)

// Python is what the text of a script shows of Python: programs in here-documents
// and after -c, by names of files, and the commands that need packages: pip install,
// python -m, and tools that are written in Python.
type Python struct {
	Programs map[string]string
	Commands [][]string
}

var (
	pythonName = lazyregexp.New(`^(?:.*/)?(?:python|pip)[0-9.]*$`)
	toolName   = lazyregexp.New(`^(?:black|coverage|flake8|isort|mypy|pylint|pytest)$`) // as _TOOLS in the guest's imports.py
	runsModule = lazyregexp.New(`^(?:coverage|cProfile|profile|pdb|trace)$`)            // as _RUNNERS there

	wrapperName     = lazyregexp.New(`^(?:env|timeout|nice|nohup|exec|command|xargs)$`)
	wrapperArgument = lazyregexp.New(`^(?:-.*|[0-9.]+[smhd]?|\w+=.*)$`)
)

// FindPython returns the Python in a script, nil if it starts none. It runs nothing,
// so that what is made while the script runs is not found.
func FindPython(code string) *Python {
	f, err := parse.File(code)
	if err != nil {
		return nil // the run says why
	}
	p, found := &Python{Programs: map[string]string{}}, false
	syntax.Walk(f, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			found = p.statement(s) || found
		}
		return true
	})
	if !found {
		return nil
	}
	return p
}

// statement reports whether a statement starts Python, and adds its programs.
func (p *Python) statement(s *syntax.Stmt) bool {
	var words []string
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		for _, w := range c.Args {
			words = append(words, fixedText(w))
		}
	}
	words = withoutWrappers(words)
	starts := len(words) > 0 && pythonName.MatchString(words[0])
	if len(words) > 0 && toolName.MatchString(words[0]) {
		p.Commands = append(p.Commands, words[:1])
		p.addInner(words)
		return true
	}
	target := ""
	for _, r := range s.Redirs {
		if name := fixedText(r.Word); strings.HasSuffix(name, ".py") && strings.HasPrefix(r.Op.String(), ">") {
			target = path.Clean(name)
		}
	}
	for _, r := range s.Redirs {
		if r.Hdoc != nil && (starts || target != "") {
			p.add(target, fixedText(r.Hdoc))
		}
	}
	if !starts {
		return false
	}
	options := true // until the first word that is none
	for i, w := range words {
		switch {
		case w == "-c" && i+1 < len(words):
			p.add("", words[i+1])
		case w == "install" && strings.Contains(strings.Join(words[:i], " "), "pip"):
			p.Commands = append(p.Commands, append([]string{"pip", "install"}, words[i+1:]...))
		case w == "-m" && options && i+1 < len(words):
			if words[i+1] != "pip" {
				p.Commands = append(p.Commands, []string{"python", "-m", words[i+1]})
			}
			p.addInner(words[i+1:])
		}
		options = options && (i == 0 || w != "-m" && (strings.HasPrefix(w, "-") || words[i-1] == "-W" || words[i-1] == "-X"))
	}
	return true
}

// addInner adds the module that a module runs, such as pytest in "coverage run -m
// pytest"; pytest's own -m means marks.
func (p *Python) addInner(words []string) {
	if !runsModule.MatchString(words[0]) {
		return
	}
	if at := slices.Index(words, "-m"); at > 0 && at+1 < len(words) {
		p.Commands = append(p.Commands, []string{"python", "-m", words[at+1]})
	}
}

// withoutWrappers returns the words of a command that others such as timeout run.
func withoutWrappers(words []string) []string {
	for len(words) > 0 && wrapperName.MatchString(words[0]) {
		words = words[1:]
		for len(words) > 0 && wrapperArgument.MatchString(words[0]) {
			words = words[1:]
		}
	}
	return words
}

func (p *Python) add(name, text string) {
	if name == "" || path.IsAbs(name) || strings.HasPrefix(name, "../") {
		name = fmt.Sprintf("script_%d.py", len(p.Programs)+1)
	}
	p.Programs[name] = text
}

// fixedText returns the text of a word, without what is only known when it runs.
func fixedText(w *syntax.Word) string {
	var b strings.Builder
	var parts func([]syntax.WordPart)
	parts = func(list []syntax.WordPart) {
		for _, part := range list {
			switch part := part.(type) {
			case *syntax.Lit:
				b.WriteString(part.Value)
			case *syntax.SglQuoted:
				b.WriteString(part.Value)
			case *syntax.DblQuoted:
				parts(part.Parts)
			}
		}
	}
	if w != nil {
		parts(w.Parts)
	}
	return b.String()
}
