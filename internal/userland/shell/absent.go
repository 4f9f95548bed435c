package shell

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed absent.txt
var absentText string

// Instead returns what to use for a command that other machines have and this one has
// not, or "".
func Instead(command string) string { return absent()[command] }

// absent has the rows of absent.txt, by the names of the commands.
var absent = sync.OnceValue(func() map[string]string {
	hints, hint := map[string]string{}, ""
	for line := range strings.Lines(absentText) {
		names, indented := strings.CutPrefix(line, "\t")
		switch {
		case indented:
			for name := range strings.FieldsSeq(names) {
				hints[name] = hint
			}
		case !strings.HasPrefix(line, "#"):
			hint = strings.TrimSpace(line)
		}
	}
	return hints
})
