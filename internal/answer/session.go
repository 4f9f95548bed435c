package answer

import (
	"fmt"
	"strings"

	"coderunner/runners"
)

// session adds what became of the session, in a sentence if it is not what one
// expects.
func (a *Answer) session(out *runners.Outcome) {
	k := out.Continued
	if k == nil {
		return
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch k.Origin {
	case runners.OriginLost:
		note("The variables of its earlier calls are lost: %s; its files are there.", k.Lost)
	case runners.OriginReplayed:
		note("Its earlier programs were run again, since their process had ended or a package is new: what came from the clock or by chance is new.")
	}
	switch {
	case k.Refused != "":
		note("It is as before this call. %s", k.Refused)
	case a.Structured.Status == runners.Paused && k.Kept:
		note("Its program goes on where it is when the user decides (the tool sessions: approve or reject; \"coderunner sessions\"); until then it takes no other.")
	case a.Structured.Status == runners.Paused:
		note("Its program goes on from its beginning, with the answers that it has got, when the user decides (the tool sessions: approve or reject; \"coderunner sessions\"); until then it takes no other.")
	case k.RolledBack:
		note("It is as before this call.")
	case !k.Kept && a.Structured.Status == runners.NotInstalled:
		note("It is as before this call.")
	case !k.Kept:
		note("Its variables are as before this call; files that the program wrote are kept.")
	case a.Structured.Status != runners.Succeeded:
		note("It goes on with what the program did until then.")
	}
	if k.ThreadsEnded > 0 {
		note("%s: threads last no longer than their call. Have the program wait for what they do (thread.join(), executor.shutdown()), and start a server in the call that asks it.", ended(k.ThreadsEnded, "thread"))
	}
	if k.ProcessesEnded > 0 {
		note("%s: processes last no longer than their call.", ended(k.ProcessesEnded, "process"))
	}
	if k.Kept && k.Unsaved != "" {
		note("Its variables will not survive a restart of the server: %s.", k.Unsaved)
	}
	a.Structured.Session = &Session{k.Session, k.State, strings.Join(notes, " ")}
}

// ended returns how many threads or processes a session's program left, in words.
func ended(n int, what string) string {
	if n == 1 {
		return "A " + what + " that still ran was ended"
	}
	if what == "process" {
		what += "e"
	}
	return fmt.Sprintf("%d %ss that still ran were ended", n, what)
}
