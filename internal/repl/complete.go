package repl

import (
	"context"
	"slices"
	"strings"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/bash"
)

// family is the language whose history and words a repl has.
func family(l runners.Language) string {
	switch l {
	case runners.Python, runners.Bash, runners.Ruby, runners.PHP, runners.SQL:
		return string(l)
	}
	return javaScript
}

// javaScript is the family of what is like JavaScript.
const javaScript = "typescript"

// keywords returns what is completed besides a session's names.
func keywords(family string) string {
	switch family {
	case "python":
		return `and as assert async await break class continue def del elif else except False finally for from global if import in is
		lambda None nonlocal not or pass raise return True try while with yield`
	case "bash":
		return `alias break case continue declare done echo elif else esac eval exec exit export false for function getopts if in local mapfile
		printf read readonly return select set shift shopt source test then time trap true type unset until wait while`
	}
	switch family {
	case "ruby":
		return `alias and begin break case class def defined? do else elsif end ensure false for if in module next nil not or puts raise redo
		require rescue retry return self super then true undef unless until when while yield`
	case "php":
		return `abstract array_filter array_keys array_map as break case catch class clone const continue count default do echo else elseif enum
		extends final finally fn for foreach function global if implements implode instanceof interface isset json_decode json_encode match
		namespace new null print_r private protected public readonly require return static strlen switch throw trait true try unset use
		var_dump while yield`
	case "sql":
		return `alter and as asc begin by case commit create delete desc distinct drop else end exists explain from group having in index inner insert
		into is join left like limit not null on or order pragma primary references rollback select set table union unique update values view where`
	}
	return `Array async await BigInt break case catch class console const continue Date default delete Deno display do else Error export extends
		false finally for function if import in instanceof interface JSON let Map Math new null Number Object of Promise process RegExp require
		return Set String super switch this throw true try type typeof undefined var void while yield`
}

// completions is what lists the completions of a name of Python, and is rolled
// back.
const completions = `import rlcompleter, sys
_completer = rlcompleter.Completer(globals())
for _i in range(200):
    _found = _completer.complete(sys.argv[1], _i)
    if not _found: break
    print(_found.rstrip("()"))
raise SystemExit(1)
`

// complete returns the completions of a name.
func (r *repl) complete(word string) (list []string) {
	names := slices.Concat(r.names, strings.Fields(keywords(family(r.Language))))
	if r.Language == runners.Bash {
		names = slices.Concat(names, bash.Commands())
		for _, name := range r.names {
			names = append(names, "$"+name)
		}
	}
	if r.Language == runners.Python && strings.Contains(word, ".") {
		out, err := r.Store.Run(context.Background(), session.Call{Session: r.Session, Rollback: true, Request: runners.Request{
			Language: r.Language, Code: completions, Args: []string{word}, Limits: r.Limits,
		}}, r.Runner.Run)
		if err != nil {
			return nil
		}
		names = strings.Fields(out.Stdout)
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > maxCompletions { // the first and last have their prefix in common
		list = append(list[:maxCompletions-1], list[len(list)-1])
	}
	return list
}

// maxCompletions bounds the names that Tab shows: of more, the editor would ask whether
// to show them, in the middle of a line.
const maxCompletions = 100
