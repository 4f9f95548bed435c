package builtins

import (
	"maps"
	"slices"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// completions are what compgen lists, by the letter of its option and by the name
// that -A takes.
var completions = map[string]func(sh Shell, word string) []string{
	"a alias": func(sh Shell, _ string) []string { return slices.Sorted(maps.Keys(sh.State().Aliases)) },
	"b builtin": func(sh Shell, _ string) []string {
		return slices.DeleteFunc(slices.Clone(sh.Builtins()), func(s string) bool { return s == "logout" })
	},
	"c command": commandNames,
	"d directory": func(sh Shell, word string) []string {
		return slices.DeleteFunc(sh.Expander().Paths(literalPattern(word)+"*"), func(s string) bool { return !sh.Files().IsDir(s) })
	},
	"e export":   func(sh Shell, _ string) []string { return namesWith(sh, vars.Exported) },
	"f file":     func(sh Shell, word string) []string { return sh.Expander().Paths(literalPattern(word) + "*") },
	"k keyword":  func(Shell, string) []string { return keywords },
	"v variable": func(sh Shell, _ string) []string { return namesWith(sh, 0) },
	"- arrayvar": func(sh Shell, _ string) []string {
		return slices.DeleteFunc(namesWith(sh, 0), func(s string) bool { return sh.Vars().Lookup(s).Kind == vars.Scalar })
	},
	"- function": func(sh Shell, _ string) []string { return slices.Sorted(maps.Keys(sh.State().Functions)) },
	"- shopt": func(Shell, string) (list []string) {
		for _, o := range options.OfShopt {
			list = append(list, o.Name)
		}
		return list
	},
	"- setopt": func(Shell, string) (list []string) {
		for _, o := range options.OfSet {
			list = append(list, o.Name)
		}
		return list
	},
	"- signal": func(Shell, string) (list []string) {
		for _, name := range kernel.SignalNames[1:] {
			list = append(list, "SIG"+name)
		}
		return list
	},
}

func literalPattern(s string) string {
	return expand.Field{{Text: s, Quoted: true}}.Pattern()
}

// commandNames returns all that can be the first word of a command.
func commandNames(sh Shell, _ string) []string {
	list := slices.Concat(slices.Sorted(maps.Keys(sh.State().Aliases)), keywords, slices.Sorted(maps.Keys(sh.State().Functions)), sh.Builtins())
	for dir := range strings.SplitSeq(sh.Vars().Get("PATH"), ":") {
		for _, e := range sh.Files().List(sh.Context(), dir) {
			list = append(list, e.Name)
		}
	}
	return list
}

// namesWith returns the names of the variables with an attribute.
func namesWith(sh Shell, a vars.Attrs) []string {
	return slices.DeleteFunc(sh.Vars().Names(), func(s string) bool {
		v, _ := sh.Vars().Scope.Find(s)
		return v.Attrs&a != a
	})
}

// wordList splits the words of -W at IFS and expands each.
func wordList(sh Shell, s string) (list []string, err error) {
	if ifs, _ := sh.Expander().IFS(); strings.TrimSpace(s) != "" && !strings.Contains(ifs, " ") {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(ifs, r) }), nil
	}
	for w, err := range parse.Words(s + "\n") {
		if err != nil {
			return nil, err
		}
		word, err := sh.Expander().Literal(w)
		if err != nil {
			return nil, err
		}
		list = append(list, word)
	}
	return list, nil
}

// compgen prints the completions of a word. It fails if there is none.
func compgen(sh Shell, args []string) int {
	args = args[1:]
	var kinds []string
	var list []string
	prefix, suffix, filter := "", "", ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		letters := args[0][1:]
		for args = args[1:]; letters != ""; letters = letters[1:] {
			if strings.IndexByte("AGWFCPSXo", letters[0]) < 0 {
				kinds = append(kinds, letters[:1]+" ")
				continue
			}
			value := letters[1:]
			if value == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			switch letters[0] {
			case 'A':
				kinds = append(kinds, " "+value)
			case 'G':
				list = append(list, sh.Expander().Paths(value)...)
			case 'W':
				words, err := wordList(sh, value)
				if err != nil {
					return failed(sh, "compgen", err)
				}
				list = append(list, words...)
			case 'P':
				prefix = value
			case 'S':
				suffix = value
			case 'X':
				filter = value
			}
			break
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	word := strings.Join(args[:min(1, len(args))], "")
	for _, kind := range kinds {
		found := false
		for name, f := range completions {
			if name[:2] == kind || name[1:] == kind {
				list, found = append(list, f(sh, word)...), true
			}
		}
		if !found {
			return Usage(sh, "compgen", "-"+strings.TrimSpace(kind)+": invalid option")
		}
	}
	var b strings.Builder
	for _, s := range list {
		matches := filter != "" && glob.Compile(strings.TrimPrefix(filter, "!"), true).Match(sh.Context(), s, false)
		if strings.HasPrefix(s, word) && matches == strings.HasPrefix(filter, "!") {
			b.WriteString(prefix + s + suffix + "\n")
		}
	}
	return max(int(arith.Truth(b.Len() == 0)), sh.Print("compgen", b.String()))
}
