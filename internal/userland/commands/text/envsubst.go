package text

import (
	"fmt"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/userland/commands/command"
)

// reference matches $NAME and ${NAME}.
var reference = lazyregexp.New(`\$(?:(\w+)|\{(\w+)\})`)

// Envsubst is envsubst.
func Envsubst(c *command.Call) int {
	o := c.Parse("v,variables")
	env, only := map[string]string{}, map[string]bool{}
	for _, kv := range c.Process.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	name := func(m []string) string { return m[1] + m[2] }
	for _, m := range reference.FindAllStringSubmatch(strings.Join(o.Args, " "), -1) {
		if only[name(m)] = true; o.On("v") {
			fmt.Fprintln(c.Out, name(m))
		}
	}
	if o.On("v") {
		return c.Status
	}
	data, err := c.ReadAll(c.Concat(nil))
	c.Must(err)
	fmt.Fprint(c.Out, reference.ReplaceAllStringFunc(string(data), func(found string) string {
		n := name(reference.FindStringSubmatch(found))
		if n[0] <= '9' || len(o.Args) > 0 && !only[n] {
			return found
		}
		return env[n]
	}))
	return c.Status
}
