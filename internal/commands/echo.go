package commands

import (
	"strings"
)

func succeed(c *call) int {
	if len(c.args) == 1 && (c.args[0] == "--help" || c.args[0] == "--version") {
		c.about(c.args[0][2:])
	}
	return 0
}

func failing(*call) int { return 1 }

// echo is the program echo of coreutils.
func echo(c *call) int {
	newline, escapes := true, false
	args := c.args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		for _, f := range args[0][1:] {
			newline = newline && f != 'n'
			escapes = f == 'e' || escapes && f != 'E'
		}
		args = args[1:]
	}
	s := strings.Join(args, " ")
	if !escapes {
		c.print(s)
	} else if c.escaped(s) {
		return 0
	}
	if newline {
		c.print("\n")
	}
	return 0
}

// escaped prints a string with escapes and reports whether \c ended it.
func (c *call) escaped(s string) (stop bool) {
	for s != "" {
		at := strings.IndexByte(s, '\\')
		if at < 0 {
			c.print(s)
			return false
		}
		c.print(s[:at])
		text, n, stop := cEscape(s[at:], true)
		if stop {
			return true
		}
		c.print(text)
		s = s[at+n:]
	}
	return false
}
