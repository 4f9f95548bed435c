package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options is what a command was called with.
type Options struct {
	Set  []Option // in the order of the command line
	Args []string // the operands
}

// Option is an option that was given, with its argument.
type Option struct{ Name, Value string }

// On reports whether an option was given.
func (o *Options) On(name string) bool {
	return slices.ContainsFunc(o.Set, func(s Option) bool { return s.Name == name })
}

// Last returns which of the options was given last, "" for none.
func (o *Options) Last(names ...string) string {
	for _, s := range slices.Backward(o.Set) {
		if slices.Contains(names, s.Name) {
			return s.Name
		}
	}
	return ""
}

// Value returns the argument of an option, or what it is without one.
func (o *Options) Value(name, none string) string {
	for _, s := range slices.Backward(o.Set) {
		if s.Name == name {
			return s.Value
		}
	}
	return none
}

// Values returns the arguments of all uses of an option.
func (o *Options) Values(name string) (list []string) {
	for _, s := range o.Set {
		if s.Name == name {
			list = append(list, s.Value)
		}
	}
	return list
}

// Operands returns the operands, or one that stands for none.
func (o *Options) Operands(none string) []string {
	if len(o.Args) == 0 {
		return []string{none}
	}
	return o.Args
}

// known is one option of a specification.
type known struct {
	names    []string
	argument byte // '=' required, '?' optional, '~' optional behind the long name, 0 none
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
		} else if rest, ok := strings.CutSuffix(word, "=~"); ok {
			k.argument, word = '~', rest
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
// "=" when it takes an argument, "=?" when it may, and "=~" when only its long name may
// (-dl is -d and -l, --numeric-suffixes=5 has one); "!" before it says that
// GNU's command has it and this one does not; the word "+" ends the options at
// the first operand, and "#" is a number such as -5.
//
// The result is nil after an error or --help; status is then what to return.
func (c *Call) options(spec string) (o *Options, status int) {
	list, posix := specification(spec)
	p := &parser{c: c, list: list, o: &Options{}}
	for p.args = c.Args; len(p.args) > 0; {
		arg := p.args[0]
		p.args = p.args[1:]
		ok := true
		switch {
		case arg == "--":
			p.o.Args = append(p.o.Args, p.args...)
			return p.o, 0
		case strings.HasPrefix(arg, "--"):
			ok = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			ok = p.short(arg[1:])
		case posix:
			p.o.Args = append([]string{arg}, p.args...)
			return p.o, 0
		default:
			p.o.Args = append(p.o.Args, arg)
		}
		if !ok {
			return nil, p.status
		}
	}
	return p.o, 0
}

// Parse is options for a command that ends with a mistake in them. The operands
// are, if given, the least number of operands and the most.
func (c *Call) Parse(spec string, operands ...int) *Options {
	o, status := c.options(spec)
	switch {
	case o == nil:
	case len(operands) > 0 && len(o.Args) < operands[0]:
		status = c.Missing(o)
	case len(operands) > 1 && len(o.Args) > operands[1]:
		status = c.Extra(o.Args[operands[1]])
	default:
		return o
	}
	panic(exit(status))
}

// Int reads a number from least to most. Another one ends the command with the
// message, which has a %s for what was read.
func (c *Call) Int(s string, least, most int, message string) int {
	n, ok := Atoi(s)
	if !ok || n < least || n > most {
		c.Exit(1, message, Quote(s))
	}
	return n
}

type parser struct {
	c      *Call
	list   []known
	args   []string
	o      *Options
	status int
}

// refuse ends the parsing with a message.
func (p *parser) refuse(format string, args ...any) bool {
	p.c.Errorf(format, args...)
	switch p.c.Name {
	case "grep", "egrep", "fgrep":
		p.c.Warnf("Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n")
	case "jq", "wget":
	case "curl":
		p.c.Errorf("try 'curl --help' for more information")
	case "diff", "cmp":
		p.c.Errorf("Try '%s --help' for more information.", p.c.Name)
	case "tar":
		p.c.Warnf("Try 'tar --help' or 'tar --usage' for more information.\n")
	default:
		p.c.Warnf("Try '%s --help' for more information.\n", p.c.Name)
	}
	p.status = max(1, badOption[p.c.Name])
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
			p.c.About(name)
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
	p.o.Set = append(p.o.Set, Option{Name: k.names[0], Value: value})
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
				p.o.Set = append(p.o.Set, Option{Name: "#", Value: arg[i:end]})
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
		if k.argument == '=' || k.argument == '?' {
			value = arg[i+1:]
			i = len(arg)
			if value == "" && k.argument == '=' {
				if len(p.args) == 0 {
					return p.refuse("option requires an argument -- '%s'", name)
				}
				value, p.args = p.args[0], p.args[1:]
			}
		}
		p.o.Set = append(p.o.Set, Option{Name: k.names[0], Value: value})
	}
	return true
}

// absent refuses an option that GNU's command has.
func (p *parser) absent(name string) bool {
	p.c.Errorf("option '%s' is not available in this sandbox", name)
	p.status = max(1, badOption[p.c.Name])
	return false
}

// About prints what --help or --version asks for.
func (c *Call) About(what string) {
	if what == "version" {
		c.Printf("%s (coderunner)\n", c.Name)
		return
	}
	c.Printf("Usage: %s\n%s\n", strings.TrimSpace(c.Name+" "+c.synopsis), c.help)
}

// Usage reports a mistake in the operands, with the hint that GNU adds.
func (c *Call) Usage(status int, format string, args ...any) int {
	c.Errorf("%s", fmt.Sprintf(format, args...))
	if c.Name == "diff" || c.Name == "cmp" {
		c.Errorf("Try '%s --help' for more information.", c.Name)
		return status
	}
	c.Warnf("Try '%s --help' for more information.\n", c.Name)
	return status
}

// Refuse ends the command with a mistake in the operands.
func (c *Call) Refuse(status int, format string, args ...any) {
	panic(exit(c.Usage(status, format, args...)))
}

// Missing reports a missing operand, or the one after the last that is there.
func (c *Call) Missing(o *Options) int {
	if len(o.Args) == 0 {
		return c.Usage(1, "missing operand")
	}
	return c.Usage(1, "missing operand after %s", Quote(o.Args[len(o.Args)-1]))
}

// Extra reports an operand that is one too many.
func (c *Call) Extra(arg string) int { return c.Usage(1, "extra operand %s", Quote(arg)) }

// Atoi is strconv.Atoi with a yes or no.
func Atoi(s string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil
}

// Btoi returns 1 for true and 0 for false.
func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
