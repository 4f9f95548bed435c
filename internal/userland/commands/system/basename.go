package system

import (
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Basename prints a name without its directory.
func Basename(c *command.Call) int {
	o := c.Parse("+ a,multiple s,suffix= z,zero")
	names, suffix := o.Args, o.Value("s", "")
	switch {
	case len(names) == 0:
		return c.Missing(o)
	case o.On("a") || o.On("s"):
	case len(names) > 2:
		return c.Extra(names[2])
	case len(names) == 2:
		names, suffix = names[:1], names[1]
	}
	for _, n := range names {
		b := command.Base(n)
		if t := strings.TrimSuffix(b, suffix); t != "" {
			b = t
		}
		c.Printf("%s%c", b, command.LineEnd(o.On("z")))
	}
	return 0
}

// Dirname prints the directory of each name.
func Dirname(c *command.Call) int {
	o := c.Parse("z,zero", 1)
	for _, n := range o.Args {
		c.Printf("%s%c", command.Dir(n), command.LineEnd(o.On("z")))
	}
	return 0
}
