package deno

import "regexp"

// workerFailed matches Deno's message about an error that ended a Worker, which it prints
// whether or not the program handles the error:
//
//	error: Uncaught (in worker "") (in promise) TypeError: bad
//	  throw new TypeError("bad");
//	        ^
//	    at file:///main.js:4:9
var workerFailed = regexp.MustCompile(`(?m)^error: Uncaught \(in worker "[^"\n]*"\) (?:\(in promise\) )?([^\n]*)(?:\n[^\n]*\n *\^+)?((?:\n    at [^\n]*)*)(?:\n|\z)`)

// childFailed is Deno's message about a Worker whose error nobody handled.
const childFailed = "Unhandled error in child worker."

// withoutWorkers returns a text of stderr without such messages, if the program's Workers
// are Node's, which prints none. Those of others show no directory of ours.
func (e *ending) withoutWorkers(text string) string {
	if !e.workers {
		return text
	}
	return workerFailed.ReplaceAllStringFunc(text, func(message string) string {
		if e.threads {
			return ""
		}
		return e.clean(message)
	})
}

// workerError returns the first line of the last such message and its frames, "" if there is
// none.
func (e *ending) workerError() (head, frames string) {
	if text, _ := e.stderr.Text(); e.workers {
		if all := workerFailed.FindAllStringSubmatch(text, -1); all != nil {
			return all[len(all)-1][1], all[len(all)-1][2]
		}
	}
	return "", ""
}
