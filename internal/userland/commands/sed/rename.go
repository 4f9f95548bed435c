package sed

import "coderunner/internal/userland/commands/command"

// Renaming returns what tar's --transform does to a name: the script has substitutions only,
// whose flags also say that an expression is extended, and which kinds of names it is for.
// A mistake in it ends the command.
func Renaming(c *command.Call, script string) func(name string) string {
	s := &editor{c: c, out: c.Out}
	p := &parser{s: s, renames: true}
	p.parse([]piece{{script, "Invalid transform expression"}})
	return func(name string) string {
		s.space = append(s.space[:0], name...)
		for _, cmd := range s.script {
			s.substitute(cmd)
		}
		return string(s.space)
	}
}
