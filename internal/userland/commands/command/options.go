package command

import (
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
	name     string   // as Options have it
	names    []string // with their dashes
	argument byte     // '=' required, '?' optional, '~' optional behind the long name, 0 none
	missing  bool     // GNU has it and we do not
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
		word, kind, takes := strings.Cut(word, "=")
		if takes {
			k.argument = (kind + "=")[0]
		}
		k.names = strings.Split(word, ",")
		k.name = k.names[0]
		for i, n := range k.names {
			k.names[i] = strings.Repeat("-", min(2, len(n))) + n
		}
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
func options(c *Call, spec string) (o *Options, status int) {
	o, status = &Options{}, max(1, badOption[c.Name])
	p := &parser{args: c.Args, found: func(k known, value string) { o.Set = append(o.Set, Option{k.name, value}) }}
	p.list, p.posix = specification(spec)
	p.refuse = func(format string, args ...any) bool {
		refuse(c, format, args...)
		return false
	}
	p.special = func(k known, name string) bool {
		switch {
		case k.missing:
			c.Errorf("option '%s' is not available in this sandbox", name)
		case name == "--help" || name == "--version":
			c.About(name[2:])
			status = 0
		default:
			return false
		}
		return true
	}
	operands, ok := p.parse()
	if !ok {
		return nil, status
	}
	o.Args = operands
	return o, 0
}

// Parse is options for a command that ends with a mistake in them. The operands
// are, if given, the least number of operands and the most.
func (c *Call) Parse(spec string, operands ...int) *Options {
	o, status := options(c, spec)
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

// refuse reports a mistake in the command line, with the hint that the command adds.
func refuse(c *Call, format string, args ...any) {
	c.Errorf(format, args...)
	switch c.Name {
	case "grep", "egrep", "fgrep":
		c.Warnf("Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.\n")
	case "jq", "wget":
	case "curl":
		c.Errorf("try 'curl --help' for more information")
	case "diff", "cmp":
		c.Errorf("Try '%s --help' for more information.", c.Name)
	case "tar":
		c.Warnf("Try 'tar --help' or 'tar --usage' for more information.\n")
	default:
		c.Warnf("Try '%s --help' for more information.\n", c.Name)
	}
}

// parser reads words as getopt_long does.
type parser struct {
	list    []known
	args    []string // what is not read yet
	posix   bool     // the first operand ends the options
	inOrder bool     // operands are options without a name
	found   func(k known, value string)
	refuse  func(format string, args ...any) (goOn bool)
	special func(k known, name string) (ended bool) // nil: no option is
}

// parse returns the operands. It is not ok if something ended it.
func (p *parser) parse() (operands []string, ok bool) {
	for ok = true; ok && len(p.args) > 0; {
		arg := p.args[0]
		p.args = p.args[1:]
		switch {
		case arg == "--":
			return append(operands, p.args...), true
		case strings.HasPrefix(arg, "--"):
			ok = p.long(arg)
		case len(arg) > 1 && arg[0] == '-':
			ok = p.short(arg[1:])
		case p.posix:
			return append(append(operands, arg), p.args...), true
		case p.inOrder:
			p.found(known{argument: '='}, arg)
		default:
			operands = append(operands, arg)
		}
	}
	return operands, ok
}

func (p *parser) long(arg string) bool {
	name, value, has := strings.Cut(arg, "=")
	var found []known
	var names []string
	for _, k := range p.list {
		if slices.Contains(k.names, name) {
			found, names = []known{k}, []string{name}
			break
		}
		for _, n := range k.names {
			if strings.HasPrefix(n, name) {
				found, names = append(found, k), append(names, n)
			}
		}
	}
	if len(found) == 0 {
		if p.special != nil && p.special(known{}, name) {
			return false
		}
		return p.refuse("unrecognized option '%s'", name)
	}
	k := found[0]
	switch {
	case slices.ContainsFunc(found, func(f known) bool { return f.name != k.name }):
		return p.refuse("option '%s' is ambiguous; possibilities: '%s'", name, strings.Join(names, "' '"))
	case k.missing:
		return !p.special(k, names[0])
	case k.argument == 0 && has:
		return p.refuse("option '%s' doesn't allow an argument", names[0])
	case k.argument == '=' && !has && len(p.args) == 0:
		return p.refuse("option '%s' requires an argument", names[0])
	case k.argument == '=' && !has:
		value, p.args = p.args[0], p.args[1:]
	}
	p.found(k, value)
	return true
}

func (p *parser) short(arg string) bool {
	for i := 0; i < len(arg); i++ {
		name := "-" + arg[i:i+1]
		named := func(name string) int {
			return slices.IndexFunc(p.list, func(k known) bool { return slices.Contains(k.names, name) })
		}
		at := named(name)
		if number := named("-#"); at < 0 && number >= 0 && arg[i] >= '0' && arg[i] <= '9' {
			digits := arg[i : len(arg)-len(strings.TrimLeft(arg[i:], "0123456789"))]
			p.found(p.list[number], digits)
			i += len(digits) - 1
			continue
		}
		if at < 0 {
			if !p.refuse("invalid option -- '%s'", name[1:]) {
				return false
			}
			continue
		}
		k := p.list[at]
		if k.missing {
			return !p.special(k, name)
		}
		value := ""
		if k.argument == '=' || k.argument == '?' {
			value = arg[i+1:]
			i = len(arg)
			if value == "" && k.argument == '=' {
				if len(p.args) == 0 {
					return p.refuse("option requires an argument -- '%s'", name[1:])
				}
				value, p.args = p.args[0], p.args[1:]
			}
		}
		p.found(k, value)
	}
	return true
}

// Getopt reads words by the options that getopt(1) is told: letters and names, with a colon
// behind one that has an argument and two behind one that may. found is called with each, with
// its dashes, and refuse with what is wrong. Letters that begin with "+" end the options at the
// first operand, with "-" they have found called with operands, too.
func Getopt(words []string, letters string, names []string, found func(name, value string, takes bool), refuse func(format string, args ...any)) (operands []string) {
	p := &parser{
		args: words, posix: strings.HasPrefix(letters, "+"), inOrder: strings.HasPrefix(letters, "-"),
		found: func(k known, value string) { found(k.name, value, k.argument != 0) },
		refuse: func(format string, args ...any) bool {
			refuse(format, args...)
			return true
		},
	}
	add := func(dashes, name string) {
		bare := strings.TrimRight(name, ":")
		kind := map[int]byte{1: '=', 2: '?'}[len(name)-len(bare)]
		p.list = append(p.list, known{name: dashes + bare, names: []string{dashes + bare}, argument: kind})
	}
	for letters = strings.TrimLeft(letters, "+-:"); letters != ""; {
		n := len(letters) - len(strings.TrimLeft(letters[1:], ":"))
		add("-", letters[:n])
		letters = letters[n:]
	}
	for _, name := range names {
		add("--", name)
	}
	operands, _ = p.parse()
	return operands
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
	refuse(c, format, args...)
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
