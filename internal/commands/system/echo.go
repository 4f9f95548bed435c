package system

import (
	"strings"

	"coderunner/internal/commands/command"
	"coderunner/internal/commands/printf"
)

// True is true, and sync: files are in memory.
func True(c *command.Call) int {
	if len(c.Args) == 1 && (c.Args[0] == "--help" || c.Args[0] == "--version") {
		c.About(c.Args[0][2:])
	}
	return 0
}

// False is false.
func False(*command.Call) int { return 1 }

// Echo is the program echo of coreutils.
func Echo(c *command.Call) int {
	newline, escapes := true, false
	args := c.Args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, f := range args[0][1:] {
			newline = newline && f != 'n'
			escapes = f == 'e' || escapes && f != 'E'
		}
		args = args[1:]
	}
	s := strings.Join(args, " ")
	if !escapes {
		c.Print(s)
	} else if escaped(c, s) {
		return 0
	}
	if newline {
		c.Print("\n")
	}
	return 0
}

// escaped prints a string with escapes and reports whether \c ended it.
func escaped(c *command.Call, s string) (stop bool) {
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			c.Print(s)
			return false
		}
		c.Print(s[:at])
		text, n, stop := printf.CEscape(s[at:], true)
		if stop {
			return true
		}
		c.Print(text)
		s = s[at+n:]
	}
	return false
}
