package text

import (
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Tsort sorts topologically.
func Tsort(c *command.Call) int {
	o := c.Parse("")
	data, err := c.ReadAll(c.Concat(o.Args))
	c.Failed("-", err)
	words := strings.Fields(string(data))
	if len(words)%2 != 0 {
		return c.Die(1, "-: input contains an odd number of tokens")
	}
	after, waits := map[string][]string{}, map[string]int{}
	var order []string
	for i := 0; i < len(words); i += 2 {
		for _, w := range words[i : i+2] {
			if _, ok := waits[w]; !ok {
				waits[w] = 0
				order = append(order, w)
			}
		}
		if a, b := words[i], words[i+1]; a != b {
			after[a] = append(after[a], b)
			waits[b]++
		}
	}
	slices.Sort(order)
	var ready []string
	for _, w := range order {
		if waits[w] == 0 {
			ready = append(ready, w)
		}
	}
	printed := 0
	for ; len(ready) > 0; ready = ready[1:] {
		c.Print(ready[0] + "\n")
		printed++
		for _, b := range after[ready[0]] {
			if waits[b]--; waits[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	if printed < len(order) {
		c.Fail("-: input contains a loop:")
		for _, w := range order {
			if waits[w] > 0 {
				c.Errorf("%s", w)
			}
		}
	}
	return c.Status
}
