package deno

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"coderunner/runners/deno/jsparse"
)

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
		return e.stacks.Clean(message)
	})
}

// workerError returns the first line of the last such message and its frames, "" if there is
// none.
func (e *ending) workerError() (head, frames string) {
	if text, _ := e.stderr.Text(); e.workers {
		if all := workerFailed.FindAllStringSubmatch(text, -1); all != nil {
			return all[len(all)-1][1], e.inTexts(all[len(all)-1][2])
		}
	}
	return "", ""
}

var (
	// inText matches a frame in a Worker that is a text of the program.
	inText = regexp.MustCompile(`(?m)^(    at (?:.* \()?)(\[ext:runtime/web_worker\.rs[\d:]*\]|blob:null/[\w-]+|data:[^\s()]*):(\d+):(\d+)(\)?)$`)

	// workerText matches a template that is such a text.
	workerText = regexp.MustCompile("`[^`$]*\\b(?:parentPort|postMessage|onmessage|workerData)\\b[^`$]*`")

	newWorker = regexp.MustCompile(`\bnew Worker\(`)
)

// evalLines are what Deno has before a text that Node's Worker evaluates.
const evalLines = 4

// inTexts returns the frames of a Worker's error with places in the program for those in a
// text, if that is its only template of a Worker.
func (e *ending) inTexts(frames string) string {
	if e.stacks == nil || strings.Contains(frames, e.stacks.Work) {
		return frames
	}
	source, main := e.program.Source, e.stacks.URL+"/"+e.stacks.Main
	if all := workerText.FindAllStringIndex(source, 2); len(all) == 1 {
		before := strings.Count(source[:all[0][0]], "\n")
		return inText.ReplaceAllStringFunc(frames, func(found string) string {
			m := inText.FindStringSubmatch(found)
			line, _ := strconv.Atoi(m[3])
			if m[2][0] == '[' {
				line -= evalLines
			}
			return fmt.Sprintf("%s%s:%d:%s%s", m[1], main, before+max(line, 1), m[4], m[5])
		})
	}
	return frames
}

// workerPlace returns where a program starts its only Worker, if that has thrown.
func (e *ending) workerPlace(t *thrown) (at jsparse.Use) {
	source := e.program.Source
	all := newWorker.FindAllStringIndex(source, 2)
	if head, _ := e.workerError(); len(all) != 1 || head == "" || !strings.HasPrefix(t.stack, head) {
		return at
	}
	return useAt(source, all[0][0])
}
