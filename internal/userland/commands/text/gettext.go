package text

import (
	"strings"

	"coderunner/internal/userland/commands/command"
)

var gettextEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\a`, "\a", `\b`, "\b", `\f`, "\f", `\r`, "\r", `\v`, "\v", `\c`, "")

// Gettext is gettext and ngettext where no text has a translation: the only locale is C.UTF-8.
func Gettext(c *command.Call) int {
	if c.Name == "ngettext" {
		o := c.Parse("+ d,domain= c,context= e E", 3, 4)
		args := o.Args[len(o.Args)-3:]
		text := args[1]
		if args[2] == "1" {
			text = args[0]
		}
		return printText(c, o, text)
	}
	o := c.Parse("+ d,domain= c,context= e E n s")
	if o.On("s") {
		text := strings.Join(o.Args, " ")
		if !o.On("n") {
			text += "\n"
		}
		return printText(c, o, text)
	}
	if len(o.Args) == 0 {
		c.Errorf("missing arguments")
		return 1
	}
	if len(o.Args) > 2 {
		c.Errorf("too many arguments")
		return 1
	}
	return printText(c, o, o.Args[len(o.Args)-1])
}

func printText(c *command.Call, o *command.Options, text string) int {
	if o.On("e") {
		text = gettextEscapes.Replace(text)
	}
	c.Print(text)
	return c.Status
}
