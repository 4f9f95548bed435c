package builtins

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/quote"
)

var keywords = strings.Fields("if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc")

// kinds returns what a name is: alias, keyword, function, builtin and files.
func kinds(sh Shell, name string, functions bool) (list [][2]string) {
	if s, ok := sh.State().Aliases[name]; ok && sh.Options().ExpandAliases {
		list = append(list, [2]string{"alias", s})
	}
	if slices.Contains(keywords, name) {
		list = append(list, [2]string{"keyword", ""})
	}
	if sh.State().Functions[name] != nil && functions {
		list = append(list, [2]string{"function", ""})
	}
	if slices.Contains(sh.Builtins(), name) {
		list = append(list, [2]string{"builtin", ""})
	}
	if p := Which(sh, name); p != "" {
		list = append(list, [2]string{"file", p})
	}
	return list
}

func typeOf(sh Shell, flags Flags, args []string) int {
	mode, all, functions := flags.Last("tpP"), flags.On('a'), !flags.On('f')
	status := 0
	var b strings.Builder
	for _, name := range args {
		list := kinds(sh, name, functions)
		if mode == 'P' {
			list = slices.DeleteFunc(list, func(k [2]string) bool { return k[0] != "file" })
		}
		if len(list) == 0 {
			if status = 1; mode == 0 {
				sh.Write(1, b.String())
				b.Reset()
				sh.Errorf("type: %s: not found", name)
			}
			continue
		}
		if !all {
			list = list[:1]
		}
		for _, k := range list {
			b.WriteString(typeLine(sh, mode, name, k))
		}
	}
	return max(status, sh.Print("type", b.String()))
}

func typeLine(sh Shell, mode byte, name string, k [2]string) string {
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
		return name + " is a function\n" + sh.State().Functions[name].Definition(name)
	case "builtin":
		return name + " is a shell builtin\n"
	}
	return name + " is " + k[1] + "\n"
}

func command(sh Shell, flags Flags, args []string) int {
	mode := flags.Last("vV")
	if len(args) == 0 {
		return 0
	}
	if mode == 0 {
		return sh.Run(args)
	}
	status := 1
	var b strings.Builder
	for _, name := range args {
		list := kinds(sh, name, true)
		if len(list) == 0 {
			if mode == 'V' {
				sh.Errorf("command: %s: not found", name)
			}
			continue
		}
		status = 0
		switch k := list[0]; {
		case mode == 'V':
			b.WriteString(typeLine(sh, 0, name, k))
		case k[0] == "file":
			b.WriteString(k[1] + "\n")
		case k[0] == "alias":
			b.WriteString("alias " + name + "=" + quote.Word(k[1]) + "\n")
		default:
			b.WriteString(name + "\n")
		}
	}
	return max(status, sh.Print("command", b.String()))
}

func builtin(sh Shell, _ Flags, args []string) int {
	if len(args) == 0 {
		return 0
	}
	if !slices.Contains(sh.Builtins(), args[0]) {
		return fail(sh, "builtin: %s: not a shell builtin", args[0])
	}
	return sh.Run(args)
}

func enable(sh Shell, args []string) int {
	off := slices.Contains(args[1:], "-n")
	for _, name := range args[1:] {
		if name == "-n" || !slices.Contains(sh.Builtins(), name) {
			continue
		}
		if off {
			sh.State().Disabled[name] = true
		} else {
			delete(sh.State().Disabled, name)
		}
	}
	if len(args) > 1 {
		return 0
	}
	var b strings.Builder
	for _, name := range sh.Builtins() {
		b.WriteString("enable " + name + "\n")
	}
	return sh.Print("enable", b.String())
}

func alias(sh Shell, args []string) int {
	status := 0
	var b strings.Builder
	args = slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return a == "-p" || a == "--" })
	if len(args) == 0 {
		args = slices.Sorted(maps.Keys(sh.State().Aliases))
	}
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		switch {
		case ok:
			sh.State().Aliases[name] = text
		case sh.State().Aliases[a] != "":
			b.WriteString("alias " + a + "=" + quote.Word(sh.State().Aliases[a]) + "\n")
		default:
			status = fail(sh, "alias: %s: not found", a)
		}
	}
	return max(status, sh.Print("alias", b.String()))
}

func unalias(sh Shell, args []string) int {
	status := 0
	if len(args) == 1 {
		return Usage(sh, "unalias", "")
	}
	for _, a := range args[1:] {
		if a == "--" {
			continue
		} else if a == "-a" {
			clear(sh.State().Aliases)
		} else if _, ok := sh.State().Aliases[a]; !ok {
			status = fail(sh, "unalias: %s: not found", a)
		} else {
			delete(sh.State().Aliases, a)
		}
	}
	return status
}

func getopts(sh Shell, args []string) int {
	if len(args) < 3 {
		return Usage(sh, "getopts", "")
	}
	spec, name, list := args[1], args[2], sh.State().Params
	if len(args) > 3 {
		list = args[3:]
	}
	index, _ := strconv.Atoi(sh.Vars().Get("OPTIND"))
	index = max(index, 1)
	if sh.State().getopts.index != index {
		sh.State().getopts.at = 0
	}
	o := &getoptsCall{sh: sh, name: name, index: index, at: sh.State().getopts.at}
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
	sh        Shell
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
		complain(o.sh, "illegal option -- "+string(c))
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
		complain(o.sh, "option requires an argument -- "+string(c))
		return o.finish("?", "", false, 0)
	}
	o.index++
	return o.finish(string(c), list[o.index-2], true, 0)
}

// finish sets the variables of getopts.
func (o *getoptsCall) finish(letter, arg string, hasArg bool, status int) int {
	_ = o.sh.Vars().Set("OPTIND", strconv.Itoa(o.index))
	o.sh.State().getopts = getoptsState{o.index, o.at}
	if hasArg {
		_ = o.sh.Vars().Set("OPTARG", arg)
	} else {
		_ = o.sh.Vars().Unset("OPTARG")
	}
	if err := o.sh.Vars().Set(o.name, letter); err != nil {
		return failed(o.sh, "getopts", err)
	}
	return status
}

// complain writes a message of getopts, which names the script alone.
func complain(sh Shell, what string) {
	if sh.Vars().Get("OPTERR") != "0" {
		sh.Write(2, sh.State().Zero+": "+what+"\n")
	}
}

// hash is the table of commands' paths, of which none is kept: looking one up takes
// no time here.
func hash(sh Shell, args []string) int {
	status := 0
	for _, name := range args[1:] {
		if name[:min(1, len(name))] != "-" && Which(sh, name) == "" && !slices.Contains(sh.Builtins(), name) {
			status = fail(sh, "hash: %s: not found", name)
		}
	}
	if len(args) == 1 {
		return sh.Print("hash", "hash: hash table empty\n")
	}
	return status
}

func times(sh Shell, _ []string) int {
	d := sh.Process().ChildCPU()
	return sh.Print("times", fmt.Sprintf("0m0.000s 0m0.000s\n%dm%.3fs 0m0.000s\n", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes()))))
}

func let(sh Shell, args []string) int {
	if len(args) < 2 {
		return fail(sh, "let: expression expected")
	}
	var n int64
	for _, a := range args[1:] {
		var err error
		if n, err = sh.Expander().Evaluate(a); err != nil {
			return failed(sh, "let", err)
		}
	}
	return int(arith.Truth(n == 0))
}
