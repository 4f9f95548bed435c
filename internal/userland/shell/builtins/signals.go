package builtins

import (
	"coderunner/internal/machine/kernel"
	"fmt"
	"strconv"
	"strings"
)

// ListSignals is kill -l and trap -l.
func ListSignals(sh Shell, args []string) int {
	var b strings.Builder
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil {
			s, ok := kernel.ParseSignal(a)
			if !ok {
				return fail(sh, "kill: %s: invalid signal specification", a)
			}
			fmt.Fprintln(&b, int(s))
			continue
		}
		if n > 128 {
			n -= 128
		}
		if n < 0 || n >= len(kernel.SignalNames) {
			return fail(sh, "kill: %s: invalid signal specification", a)
		}
		fmt.Fprintln(&b, kernel.SignalNames[n])
	}
	if len(args) == 0 {
		for i, name := range kernel.SignalNames[1:] {
			fmt.Fprintf(&b, "%2d) SIG%s", i+1, name)
			if i%5 == 4 {
				b.WriteByte('\n')
			} else {
				b.WriteByte('\t')
			}
		}
		b.WriteByte('\n')
	}
	return sh.Print("kill", b.String())
}
