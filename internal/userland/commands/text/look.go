package text

import (
	"strings"
	"unicode"

	"coderunner/internal/userland/commands/command"
)

// Look is look: it prints the lines that begin with a string.
func Look(c *command.Call) int {
	o := c.Parse("a,alternative d,alphanum f,ignore-case t,terminate=", 1, 2)
	prefix, file := o.Args[0], "/usr/share/dict/words"
	words := o.On("d") || len(o.Args) == 1
	if len(o.Args) == 2 {
		file = o.Args[1]
	}
	if end := o.Value("t", ""); end != "" {
		if i := strings.Index(prefix, end); i >= 0 {
			prefix = prefix[:i+len(end)]
		}
	}
	key := func(s string) string {
		if words {
			s = strings.Map(func(r rune) rune {
				if r == ' ' || r == '\t' || unicode.IsLetter(r) || unicode.IsDigit(r) {
					return r
				}
				return -1
			}, s)
		}
		if o.On("f") || len(o.Args) == 1 {
			s = strings.ToLower(s)
		}
		return s
	}
	found := 1
	l := c.Lines(c.Input(file), '\n')
	for line := range l.All() {
		if strings.HasPrefix(key(string(line)), key(prefix)) {
			c.Printf("%s\n", line)
			found = 0
		}
	}
	return max(found, c.Status)
}
