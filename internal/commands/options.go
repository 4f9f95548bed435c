package commands

import (
	"fmt"
	"slices"
	"strings"
)

// options is what a command was called with.
type options struct {
	set  []option // in the order of the command line
	args []string // the operands
}

type option struct{ name, value string }

// on reports whether an option was given.
func (o *options) on(name string) bool {
	return slices.ContainsFunc(o.set, func(s option) bool { return s.name == name })
}

// last returns which of the options was given last, "" for none.
func (o *options) last(names ...string) string {
	for _, s := range slices.Backward(o.set) {
		if slices.Contains(names, s.name) {
			return s.name
		}
	}
	return ""
}

// value returns the argument of an option, or what it is without one.
func (o *options) value(name, none string) string {
	for _, s := range slices.Backward(o.set) {
		if s.name == name {
			return s.value
		}
	}
	return none
}

// values returns the arguments of all uses of an option.
func (o *options) values(name string) (list []string) {
	for _, s := range o.set {
		if s.name == name {
			list = append(list, s.value)
		}
	}
	return list
}

// known is one option of a specification.
type known struct {
	names    []string
	argument byte // '=' required, '?' optional, 0 none
	missing  bool // GNU has it and we do not
}

// specification reads the words that options takes.
func specification(spec string) (list []known, posix bool) {
	for word := range strings.FieldsSeq(spec) {
		if word == "+" {
			posix = true
			continue
		}
		var k known
		if rest, ok := strings.CutPrefix(word, "!"); ok {
			k.missing, word = true, rest
		}
		if rest, ok := strings.CutSuffix(word, "=?"); ok {
			k.argument, word = '?', rest
		} else if rest, ok := strings.CutSuffix(word, "="); ok {
			k.argument, word = '=', rest
		}
		k.names = strings.Split(word, ",")
		list = append(list, k)
	}
	return list, posix
}

// badOption is the status of a command that does not know an option; 1 for
// those that are not here.
var badOption = map[string]int{
	"ls": 2, "dir": 2, "grep": 2, "egrep": 2, "fgrep": 2, "sort": 2, "diff": 2, "cmp": 2, "patch": 2,
	"env": 125, "timeout": 125, "nohup": 125, "nice": 125, "tar": 64, "curl": 2, "wget": 2, "jq": 2,
	"awk": 2, "which": 2, "printenv": 2, "tty": 2, "zip": 16, "unzip": 10,
}

// options parses the command line as getopt_long does: options and operands may
// be mixed until "--", short ones combined, long ones shortened as long as that
// is unambiguous. Each word of spec is an option's names joined by commas, with
// "=" when it takes an argument and "=?" when it may; "!" before it says that
// GNU's command has it and this one does not; the word "+" ends the options at
// the first operand, and "#" is a number such as -5.
//
// The result is nil after an error or --help; status is then what to return.
func (c *call) options(spec string) (o *options, status int) {
	list, posix := specification(spec)
	p := &parser{c: c, list: list, o: &options{}}
	for p.args = c.args; len(p.args) > 0; {
		arg := p.args[0]
		p.args = p.args[1:]
		ok := true
		switch {
		case arg == "--":
			p.o.args = append(p.o.args, p.args...)
			return p.o, 0
		case strings.HasPrefix(arg, "--"):
			ok = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			ok = p.short(arg[1:])
		case posix:
			p.o.args = append([]string{arg}, p.args...)
			return p.o, 0
		default:
			p.o.args = append(p.o.args, arg)
		}
		if !ok {
			return nil, p.status
		}
	}
	return p.o, 0
}

type parser struct {
	c      *call
	list   []known
	args   []string
	o      *options
	status int
}

// refuse ends the parsing with a message.
func (p *parser) refuse(format string, args ...any) bool {
	p.c.errorf(format, args...)
	switch p.c.name {
	case "grep", "egrep", "fgrep":
		p.c.warnf("Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n")
	case "jq", "curl", "wget":
	case "diff", "cmp":
		p.c.errorf("Try '%s --help' for more information.", p.c.name)
	case "tar":
		p.c.warnf("Try 'tar --help' or 'tar --usage' for more information.\n")
	default:
		p.c.warnf("Try '%s --help' for more information.\n", p.c.name)
	}
	p.status = max(1, badOption[p.c.name])
	return false
}

func (p *parser) long(arg string) bool {
	name, value, has := strings.Cut(arg, "=")
	var found []known
	var names []string
	for _, k := range p.list {
		for _, n := range k.names {
			if n == name && len(n) > 1 {
				found, names = []known{k}, []string{n}
				break
			}
			if len(n) > 1 && strings.HasPrefix(n, name) {
				found, names = append(found, k), append(names, n)
			}
		}
		if len(names) == 1 && names[0] == name {
			break
		}
	}
	if len(found) == 0 {
		if name == "help" || name == "version" {
			p.c.about(name)
			return false
		}
		return p.refuse("unrecognized option '--%s'", name)
	}
	k := found[0]
	if len(found) > 1 && slices.ContainsFunc(found, func(f known) bool { return f.names[0] != k.names[0] }) {
		return p.refuse("option '--%s' is ambiguous; possibilities: '--%s'", name, strings.Join(names, "' '--"))
	}
	switch {
	case k.missing:
		return p.absent("--" + names[0])
	case k.argument == 0 && has:
		return p.refuse("option '--%s' doesn't allow an argument", names[0])
	case k.argument == '=' && !has:
		if len(p.args) == 0 {
			return p.refuse("option '--%s' requires an argument", names[0])
		}
		value, p.args = p.args[0], p.args[1:]
	}
	p.o.set = append(p.o.set, option{k.names[0], value})
	return true
}

func (p *parser) short(arg string) bool {
	for i := 0; i < len(arg); i++ {
		name := arg[i : i+1]
		at := slices.IndexFunc(p.list, func(k known) bool { return slices.Contains(k.names, name) })
		if at < 0 && name >= "0" && name <= "9" {
			if number := slices.IndexFunc(p.list, func(k known) bool { return k.names[0] == "#" }); number >= 0 {
				end := i
				for end < len(arg) && arg[end] >= '0' && arg[end] <= '9' {
					end++
				}
				p.o.set = append(p.o.set, option{"#", arg[i:end]})
				i = end - 1
				continue
			}
		}
		if at < 0 {
			return p.refuse("invalid option -- '%s'", name)
		}
		k := p.list[at]
		if k.missing {
			return p.absent("-" + name)
		}
		value := ""
		if k.argument != 0 {
			value = arg[i+1:]
			i = len(arg)
			if value == "" && k.argument == '=' {
				if len(p.args) == 0 {
					return p.refuse("option requires an argument -- '%s'", name)
				}
				value, p.args = p.args[0], p.args[1:]
			}
		}
		p.o.set = append(p.o.set, option{k.names[0], value})
	}
	return true
}

// absent refuses an option that GNU's command has.
func (p *parser) absent(name string) bool {
	p.c.errorf("option '%s' is not available in this sandbox", name)
	p.status = max(1, badOption[p.c.name])
	return false
}

// about prints what --help or --version asks for.
func (c *call) about(what string) {
	if what == "version" {
		c.printf("%s (coderunner)\n", c.name)
		return
	}
	row := table[c.name]
	c.printf("Usage: %s\n%s\n", strings.TrimSpace(c.name+" "+row.usage), row.help)
}

// usage reports a mistake in the operands, with the hint that GNU adds.
func (c *call) usage(status int, format string, args ...any) int {
	c.errorf("%s", fmt.Sprintf(format, args...))
	if c.name == "diff" || c.name == "cmp" {
		c.errorf("Try '%s --help' for more information.", c.name)
		return status
	}
	c.warnf("Try '%s --help' for more information.\n", c.name)
	return status
}

// missing reports a missing operand, or the one after the last that is there.
func (c *call) missing(o *options) int {
	if len(o.args) == 0 {
		return c.usage(1, "missing operand")
	}
	return c.usage(1, "missing operand after %s", quote(o.args[len(o.args)-1]))
}

// extra reports an operand that is one too many.
func (c *call) extra(arg string) int { return c.usage(1, "extra operand %s", quote(arg)) }
