package ending

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/runners/deno/jsparse"
)

// LeftOpen is the hint for a program that has ended, but not its call.
const LeftOpen = "The program had reached its end, but something that it began was still open, such as a timer, a server or a connection, and a call lasts until that ends: end it in the call (clearInterval, await db.destroy(), server.close()), or unref() it."

// maxLoops is how many loops are named.
const maxLoops = 3

// overtime returns what a program did that reached its time limit, as far as that is seen
// from outside, after a newline, or "".
func (e *Ending) overtime() string {
	limit, used := e.Limits.Timeout.Milliseconds(), e.Used.CPUMS
	x := jsparse.Scan(e.Program.Source)
	switch {
	case e.Report.served:
		return "\n" + OnlyItself
	case (e.Report.result != nil || len(e.Report.names) > 0) && len(x.Find("describe|it|test", "(|.")) == 0: // tests come at its end
		return "\n" + LeftOpen
	case 8*used >= limit: // others may want the processors, too
		return fmt.Sprintf("\nIt was computing (%.1f s of processor time), %s", float64(used)/1000, loops(x.Loops()))
	case 20*used < limit:
		return "\nIt was waiting nearly all of that time, as for a timer, or for an answer that did not come."
	}
	return ""
}

// loops returns where a program may compute without an end.
func loops(lines []int) string {
	switch lines = slices.Compact(lines); {
	case len(lines) == 0 || len(lines) > maxLoops:
		return "as in a loop without an end."
	case len(lines) == 1:
		return fmt.Sprintf("as in a loop without an end: its loop is in line %d.", lines[0])
	}
	return fmt.Sprintf("as in a loop without an end: its loops are in the lines %s.", strings.Trim(strings.ReplaceAll(fmt.Sprint(lines), " ", ", "), "[]"))
}
