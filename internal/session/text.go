package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
			ago(x.Used), count(x.Calls, "call"), count(x.Files, "file"), kilobytes(x.FileBytes), kilobytes(x.Bytes))
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

// count writes a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// HistoryText describes the states of a session, one in a line.
func HistoryText(x Info) string {
	var b strings.Builder
	for _, p := range x.History {
		fmt.Fprintf(&b, "%d, %s: %s", p.State, ago(p.When), p.Action)
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

func kilobytes(n int64) string {
	if n < 10_000_000 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// ago writes how long ago something was.
func ago(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return "just now"
	case d < 2*time.Hour:
		return count(int(d.Minutes()), "minute") + " ago"
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour") + " ago"
	default:
		return count(int(d.Hours())/24, "day") + " ago"
	}
}
