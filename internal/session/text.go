package session

import (
	"fmt"
	"strings"
	"time"

	"coderunner/runners"
)

// Bounds of the texts, in bytes.
const (
	maxText      = 20_000
	maxVariables = 2_000 // of one session
)

// ListText describes sessions, each in a few lines.
func ListText(list []Info) string {
	var b strings.Builder
	for _, x := range list {
		fmt.Fprintf(&b, "%s: state %d (%s) of %s, %d calls, %d files (%s), %s on disk\n", x.Name, x.State, runners.Clip(x.Action, 100),
			ago(x.Used), x.Calls, x.Files, kilobytes(x.FileBytes), kilobytes(x.Bytes))
		for _, l := range x.Languages {
			fmt.Fprintf(&b, "  %s: %s\n", l.Name, l.text())
		}
		if x.Problem != "" {
			fmt.Fprintf(&b, "  %s\n", x.Problem)
		}
	}
	return runners.Clip(strings.TrimSuffix(b.String(), "\n"), maxText)
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
		return fmt.Sprintf("%d minutes ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours())/24)
	}
}
