package ending

import (
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/deno/jsparse"
)

// workerFailed matches Deno's message about an error that ended a Worker, which it prints
// whether or not the program handles the error:
//
//	error: Uncaught (in worker "") (in promise) TypeError: bad
//	  throw new TypeError("bad");
//	        ^
//	    at file:///main.js:4:9
var workerFailed = lazyregexp.New(`(?m)^error: Uncaught \(in worker "[^"\n]*"\) (?:\(in promise\) )?([^\n]*)(?:\n[^\n]*\n *\^+)?((?:\n    at [^\n]*)*)(?:\n|\z)`)

// childFailed is Deno's message about a Worker whose error nobody handled.
const childFailed = "Unhandled error in child worker."

// withoutWorkers returns a text of stderr without such messages, if the program's Workers
// are Node's, which prints none. Those of others show no directory of ours.
func (e *Ending) withoutWorkers(text string) string {
	if !e.Workers {
		return text
	}
	return workerFailed.ReplaceAllStringFunc(text, func(message string) string {
		if e.Threads {
			return ""
		}
		return e.Stacks.Clean(message)
	})
}

// workerError returns the first line of the last such message and its frames, "" if there is
// none.
func (e *Ending) workerError() (head, frames string) {
	if text, _ := e.Stderr.Text(); e.Workers {
		if all := workerFailed.FindAllStringSubmatch(text, -1); all != nil {
			return all[len(all)-1][1], all[len(all)-1][2]
		}
	}
	return "", ""
}

// workerPlace returns where a program starts its only Worker, if that has thrown.
func (e *Ending) workerPlace(x *jsparse.Text, t *thrown) (at jsparse.Use) {
	if head, _ := e.workerError(); head == "" || !strings.HasPrefix(t.stack, head) {
		return at
	}
	return only(x.Find("new", "Worker", "("))
}
