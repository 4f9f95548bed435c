package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"coderunner/internal/order"
	"coderunner/runners"
)

// Bounds of the texts, in bytes.
const (
	maxText      = 20_000
	maxVariables = 2_000 // of one session
	maxSessions  = 20    // that are described; of others there is the name
)

// ListText describes sessions, each in a few lines, those that were used last first.
func ListText(list []Info) string {
	var b strings.Builder
	list = slices.Clone(list)
	order.Stably(list, func(x, y Info) int { return y.Used.Compare(x.Used) })
	older := list[min(maxSessions, len(list)):]
	for _, x := range list[:len(list)-len(older)] {
		fmt.Fprintf(&b, "%s: state %d (%s) of %s, %s, %s (%s), %s on disk\n", x.Name, x.State, runners.Clip(x.Action, 100),
			humanize.Time(x.Used), english.Plural(x.Calls, "call", ""), english.Plural(x.Files, "file", ""), humanize.Bytes(uint64(x.FileBytes)), humanize.Bytes(uint64(x.Bytes)))
		for _, l := range x.Languages {
			fmt.Fprintf(&b, "  %s: %s\n", l.Name, l.text())
		}
		if x.Problem != "" {
			fmt.Fprintf(&b, "  %s\n", x.Problem)
		}
	}
	if len(older) > 0 {
		var names []string
		for _, x := range older {
			names = append(names, x.Name)
		}
		fmt.Fprintf(&b, "%d older: %s\n", len(older), strings.Join(names, ", "))
	}
	return runners.Clip(strings.TrimSuffix(b.String(), "\n"), maxText)
}

// HistoryText describes the states of a session, one in a line.
func HistoryText(x Info) string {
	var b strings.Builder
	for _, p := range x.History {
		fmt.Fprintf(&b, "%d, %s: %s", p.State, humanize.Time(p.When), p.Action)
		if p.Status != "" && p.Status != runners.Succeeded {
			fmt.Fprintf(&b, " (%s)", p.Status)
		}
		b.WriteString("\n")
		if p.Answer != "" {
			fmt.Fprintf(&b, "  its answer, which nobody got:\n  %s\n", strings.ReplaceAll(p.Answer, "\n", "\n  "))
		}
	}
	return runners.Clip(strings.TrimSuffix(b.String(), "\n"), maxText)
}

// text lists the variables.
func (l Language) text() string {
	if len(l.Variables) == 0 {
		return "no variables"
	}
	var names []string
	for _, v := range l.Variables {
		names = append(names, v.Name+" "+v.Type)
	}
	text := runners.Clip(strings.Join(names, ", "), maxVariables)
	if l.Omitted > 0 {
		text += fmt.Sprintf(", and %d more", l.Omitted)
	}
	if l.Unsaved != "" {
		text += "; they will not survive a restart: " + l.Unsaved
	}
	return text
}
