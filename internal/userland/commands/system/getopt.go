package system

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// getopt parses the arguments of a script.
type getopt struct {
	c        *command.Call
	name     string // in messages; "" for none
	short    string
	long     []string // with the colons that follow
	plain    bool     // values are not quoted
	out      strings.Builder
	operands []string
	failed   bool
}

// Getopt is util-linux's: it prints the options of a script's arguments, in the order
// and the quotes that eval set takes.
func Getopt(c *command.Call) int {
	g := &getopt{c: c, name: "getopt"}
	var args []string
	if len(c.Args) > 0 && (c.Args[0] == "" || c.Args[0][0] != '-') { // as it was once
		g.short, args, g.plain = c.Args[0], c.Args[1:], true
	} else {
		o := c.Parse("+ a,alternative l,longoptions=,long= n,name= o,options= q,quiet Q,quiet-output s,shell= T,test u,unquoted")
		if o.On("T") {
			return 4
		}
		for _, list := range append(o.Values("l"), o.Values("long")...) {
			g.long = append(g.long, strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		g.name, g.short, args, g.plain = o.Value("n", "getopt"), o.Value("o", ""), o.Args, o.On("u")
		if !o.On("o") {
			if len(args) == 0 {
				return c.Usage(2, "missing optstring argument")
			}
			g.short, args = args[0], args[1:]
		}
		if o.On("q") {
			g.name = ""
		}
	}
	if len(args) > 0 && args[0] == "--" && g.plain {
		args = args[1:]
	}
	g.parse(args)
	c.Print(g.out.String() + " --")
	for _, a := range g.operands {
		c.Print(" " + g.quote(a))
	}
	c.Print("\n")
	return command.Btoi(g.failed)
}

func (g *getopt) quote(s string) string {
	if g.plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (g *getopt) parse(args []string) {
	inOrder, stops := strings.HasPrefix(g.short, "-"), strings.HasPrefix(g.short, "+")
	g.short = strings.TrimLeft(g.short, "+-:")
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			g.operands = append(g.operands, args...)
			return
		case strings.HasPrefix(arg, "--"):
			args = g.longOption(arg[2:], args)
		case len(arg) > 1 && arg[0] == '-':
			args = g.shortOptions(arg[1:], args)
		case stops:
			g.operands = append(append(g.operands, arg), args...)
			return
		case inOrder:
			g.out.WriteString(" " + g.quote(arg))
		default:
			g.operands = append(g.operands, arg)
		}
	}
}

func (g *getopt) refuse(format string, args ...any) {
	if g.failed = true; g.name != "" {
		g.c.Warnf("%s: %s\n", g.name, fmt.Sprintf(format, args...))
	}
}

func (g *getopt) shortOptions(letters string, args []string) []string {
	for ; letters != ""; letters = letters[1:] {
		at := strings.IndexByte(g.short, letters[0])
		if at < 0 || letters[0] == ':' {
			g.refuse("invalid option -- '%c'", letters[0])
			continue
		}
		takes := g.short[at+1:]
		if !strings.HasPrefix(takes, ":") {
			g.out.WriteString(" -" + letters[:1])
			continue
		}
		value := letters[1:]
		if value == "" && !strings.HasPrefix(takes, "::") {
			if len(args) == 0 {
				g.refuse("option requires an argument -- '%c'", letters[0])
				return args
			}
			value, args = args[0], args[1:]
		}
		g.out.WriteString(" -" + letters[:1] + " " + g.quote(value))
		return args
	}
	return args
}

func (g *getopt) longOption(arg string, args []string) []string {
	name, value, has := strings.Cut(arg, "=")
	var found []string
	for _, l := range g.long {
		if n := strings.TrimRight(l, ":"); n == name {
			found = []string{l}
			break
		} else if strings.HasPrefix(n, name) && !slices.Contains(found, l) {
			found = append(found, l)
		}
	}
	if len(found) == 0 {
		g.refuse("unrecognized option '--%s'", name)
		return args
	}
	full := strings.TrimRight(found[0], ":")
	takes := found[0][len(full):]
	switch {
	case len(found) > 1:
		g.refuse("option '--%s' is ambiguous; possibilities: '--%s'", name, strings.ReplaceAll(strings.Join(found, "' '--"), ":", ""))
		return args
	case takes == "" && has:
		g.refuse("option '--%s' doesn't allow an argument", full)
		return args
	case takes == ":" && !has && len(args) == 0:
		g.refuse("option '--%s' requires an argument", full)
		return args
	case takes == ":" && !has:
		value, args = args[0], args[1:]
	}
	g.out.WriteString(" --" + full)
	if takes != "" {
		g.out.WriteString(" " + g.quote(value))
	}
	return args
}
