package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
)

// definition returns a function's definition, as type and declare -f show it.
func (sh *shell) definition(name string, f *function) string {
	if len(f.text) < 100_000 {
		if s, ok := f.src.PrintedFunction(f.body); ok {
			return name + " () \n" + s
		}
	}
	var b strings.Builder
	b.WriteString(name + " () \n")
	if block, ok := f.body.Cmd.(*syntax.Block); ok && len(f.text) < 100_000 {
		b.WriteString("{ \n")
		for _, st := range block.Stmts {
			var s strings.Builder
			if err := syntax.NewPrinter(syntax.Indent(4)).Print(&s, st); err != nil {
				return name + " () \n" + f.text + "\n"
			}
			for line := range strings.SplitSeq(parse.Original(strings.TrimRight(s.String(), "\n")), "\n") {
				b.WriteString("    " + line + "\n")
			}
		}
		text := strings.TrimRight(b.String(), "\n")
		return strings.ReplaceAll(text, "\n    }\n", "\n    };\n") + "\n}\n"
	}
	return name + " () \n" + f.text + "\n"
}

var keywords = strings.Fields("if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc")

// kinds returns what a name is: alias, keyword, function, builtin and files.
func (sh *shell) kinds(name string, functions bool) (list [][2]string) {
	if s, ok := sh.alias[name]; ok && sh.opts.ExpandAliases {
		list = append(list, [2]string{"alias", s})
	}
	if slices.Contains(keywords, name) {
		list = append(list, [2]string{"keyword", ""})
	}
	if sh.funcs[name] != nil && functions {
		list = append(list, [2]string{"function", ""})
	}
	if builtins[name] != nil {
		list = append(list, [2]string{"builtin", ""})
	}
	if p := sh.which(name); p != "" {
		list = append(list, [2]string{"file", p})
	}
	return list
}

func (sh *shell) typeBuiltin(args []string) int {
	args = args[1:]
	mode, all, functions := byte(0), false, true
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		for _, c := range []byte(args[0][1:]) {
			switch c {
			case 't', 'p', 'P':
				mode = c
			case 'a':
				all = true
			case 'f':
				functions = false
			default:
				return sh.usage("type", "-"+string(c)+": invalid option", "type [-afptP] name [name ...]")
			}
		}
		args = args[1:]
	}
	status := 0
	var b strings.Builder
	for _, name := range args {
		list := sh.kinds(name, functions)
		if mode == 'P' {
			list = slices.DeleteFunc(list, func(k [2]string) bool { return k[0] != "file" })
		}
		if len(list) == 0 {
			if status = 1; mode == 0 {
				sh.write(1, b.String())
				b.Reset()
				sh.errorf("type: %s: not found", name)
			}
			continue
		}
		if !all {
			list = list[:1]
		}
		for _, k := range list {
			b.WriteString(sh.typeLine(mode, name, k))
		}
	}
	return max(status, sh.print("type", b.String()))
}

func (sh *shell) typeLine(mode byte, name string, k [2]string) string {
	switch {
	case mode == 't':
		return k[0] + "\n"
	case mode != 0 && k[0] == "file":
		return k[1] + "\n"
	case mode != 0:
		return ""
	}
	switch k[0] {
	case "alias":
		return fmt.Sprintf("%s is aliased to `%s'\n", name, k[1])
	case "keyword":
		return name + " is a shell keyword\n"
	case "function":
		return name + " is a function\n" + sh.definition(name, sh.funcs[name])
	case "builtin":
		return name + " is a shell builtin\n"
	}
	return name + " is " + k[1] + "\n"
}

func (sh *shell) commandBuiltin(args []string) int {
	args = args[1:]
	mode := byte(0)
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		if args[0] == "--" {
			args = args[1:]
			break
		}
		for _, c := range []byte(args[0][1:]) {
			switch c {
			case 'v', 'V':
				mode = c
			case 'p':
			default:
				return sh.usage("command", "-"+string(c)+": invalid option", "command [-pVv] command [arg ...]")
			}
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	if mode == 0 {
		sh.run(args)
		return sh.status
	}
	status := 1
	var b strings.Builder
	for _, name := range args {
		list := sh.kinds(name, true)
		if len(list) == 0 {
			if mode == 'V' {
				sh.errorf("command: %s: not found", name)
			}
			continue
		}
		status = 0
		switch k := list[0]; {
		case mode == 'V':
			b.WriteString(sh.typeLine(0, name, k))
		case k[0] == "file":
			b.WriteString(k[1] + "\n")
		case k[0] == "alias":
			b.WriteString("alias " + name + "=" + quote.Word(k[1]) + "\n")
		default:
			b.WriteString(name + "\n")
		}
	}
	return max(status, sh.print("command", b.String()))
}

func (sh *shell) builtin(args []string) int {
	if args = args[1:]; len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 0
	}
	if builtins[args[0]] == nil {
		sh.errorf("builtin: %s: not a shell builtin", args[0])
		return 1
	}
	sh.run(args)
	return sh.status
}

func (sh *shell) enable(args []string) int {
	off := slices.Contains(args[1:], "-n")
	for _, name := range args[1:] {
		if name == "-n" || builtins[name] == nil {
			continue
		}
		if off {
			sh.disabled[name] = true
		} else {
			delete(sh.disabled, name)
		}
	}
	if len(args) > 1 {
		return 0
	}
	var b strings.Builder
	for _, name := range sortedKeys(builtins) {
		b.WriteString("enable " + name + "\n")
	}
	return sh.print("enable", b.String())
}

func (sh *shell) help([]string) int {
	return sh.print("help", "GNU bash, version "+bashVersion+" (coderunner)\nBuiltins: "+strings.Join(sortedKeys(builtins), " ")+
		"\nCommands: see /bin; `COMMAND --help' explains many of them.\n")
}

func (sh *shell) aliasBuiltin(args []string) int {
	status := 0
	var b strings.Builder
	args = slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return a == "-p" || a == "--" })
	if len(args) == 0 {
		args = sortedKeys(sh.alias)
	}
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		switch {
		case ok:
			sh.alias[name] = text
		case sh.alias[a] != "":
			b.WriteString("alias " + a + "=" + quote.Word(sh.alias[a]) + "\n")
		default:
			sh.errorf("alias: %s: not found", a)
			status = 1
		}
	}
	return max(status, sh.print("alias", b.String()))
}

func (sh *shell) unalias(args []string) int {
	status := 0
	if len(args) == 1 {
		return sh.usage("unalias", "", "unalias [-a] name [name ...]")
	}
	for _, a := range args[1:] {
		if a == "--" {
			continue
		} else if a == "-a" {
			clear(sh.alias)
		} else if _, ok := sh.alias[a]; !ok {
			sh.errorf("unalias: %s: not found", a)
			status = 1
		} else {
			delete(sh.alias, a)
		}
	}
	return status
}

// getoptsState is where getopts is in an argument.
type getoptsState struct {
	index int // OPTIND as it was left
	at    int // in the argument, behind its dash
}

func (sh *shell) getoptsBuiltin(args []string) int {
	if len(args) < 3 {
		return sh.usage("getopts", "", "getopts optstring name [arg ...]")
	}
	spec, name, list := args[1], args[2], sh.params
	if len(args) > 3 {
		list = args[3:]
	}
	index, _ := strconv.Atoi(sh.vars.Get("OPTIND"))
	if index < 1 {
		index = 1
	}
	if sh.getopts.index != index {
		sh.getopts.at = 0
	}
	o := &getoptsCall{sh: sh, name: name, index: index, at: sh.getopts.at}
	if index > len(list) || o.at == 0 && (len(list[index-1]) < 2 || list[index-1][0] != '-') {
		return o.finish("?", "", false, 1)
	}
	if o.at == 0 {
		if list[index-1] == "--" {
			o.index++
			return o.finish("?", "", false, 1)
		}
		o.at = 1
	}
	if o.at >= len(list[index-1]) {
		o.at = 1
	}
	return o.option(spec, list)
}

// getoptsCall is a call of getopts that looks at the option at a place of a word.
type getoptsCall struct {
	sh        *shell
	name      string
	index, at int
}

// option reads an option, and the argument that spec says it has.
func (o *getoptsCall) option(spec string, list []string) int {
	word := list[o.index-1]
	c := word[o.at]
	if o.at++; o.at >= len(word) {
		o.index, o.at = o.index+1, 0
	}
	options, silent := strings.CutPrefix(spec, ":")
	i := strings.IndexByte(options, c)
	switch {
	case i < 0 || c == ':':
		if silent {
			return o.finish("?", string(c), true, 0)
		}
		o.sh.complain("illegal option -- " + string(c))
		return o.finish("?", "", false, 0)
	case i+1 >= len(options) || options[i+1] != ':':
		return o.finish(string(c), "", false, 0)
	case o.at > 0: // -ovalue
		value := word[o.at:]
		o.index, o.at = o.index+1, 0
		return o.finish(string(c), value, true, 0)
	case o.index > len(list):
		if silent {
			return o.finish(":", string(c), true, 0)
		}
		o.sh.complain("option requires an argument -- " + string(c))
		return o.finish("?", "", false, 0)
	}
	o.index++
	return o.finish(string(c), list[o.index-2], true, 0)
}

// finish sets the variables of getopts.
func (o *getoptsCall) finish(letter, arg string, hasArg bool, status int) int {
	_ = o.sh.vars.Set("OPTIND", strconv.Itoa(o.index))
	o.sh.getopts = getoptsState{o.index, o.at}
	if hasArg {
		_ = o.sh.vars.Set("OPTARG", arg)
	} else {
		_ = o.sh.vars.Unset("OPTARG")
	}
	if err := o.sh.vars.Set(o.name, letter); err != nil {
		o.sh.reportIn("getopts", err)
		return 1
	}
	return status
}

// complain writes a message of getopts, which names the script alone.
func (sh *shell) complain(what string) {
	if sh.vars.Get("OPTERR") != "0" {
		sh.write(2, sh.arg0+": "+what+"\n")
	}
}
