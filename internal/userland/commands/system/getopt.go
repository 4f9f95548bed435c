package system

import (
	"fmt"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// getopt parses the arguments of a script.
type getopt struct {
	c      *command.Call
	name   string // in messages; "" for none
	short  string
	long   []string // with the colons that follow
	plain  bool     // values are not quoted
	failed bool
}

// Getopt is util-linux's: it prints the options of a script's arguments, in the order
// and the quotes that eval set takes.
func Getopt(c *command.Call) int {
	g := &getopt{c: c, name: "getopt"}
	var args []string
	if len(c.Args) > 0 && (c.Args[0] == "" || c.Args[0][0] != '-') { // as it was once
		g.short, args, g.plain = c.Args[0], c.Args[1:], true
	} else {
		o := c.Parse("+ a,alternative l,longoptions,long= n,name= o,options= q,quiet Q,quiet-output s,shell= T,test u,unquoted")
		if o.On("T") {
			return 4
		}
		for _, list := range o.Values("l") {
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
	operands := command.Getopt(args, g.short, g.long, g.found, g.refuse)
	c.Print(" --")
	for _, a := range operands {
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

// found prints an option or, without a name, an operand.
func (g *getopt) found(name, value string, takes bool) {
	if name != "" {
		g.c.Print(" " + name)
	}
	if takes {
		g.c.Print(" " + g.quote(value))
	}
}

func (g *getopt) refuse(format string, args ...any) {
	if g.failed = true; g.name != "" {
		g.c.Warnf("%s: %s\n", g.name, fmt.Sprintf(format, args...))
	}
}
