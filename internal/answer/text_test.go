package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"coderunner/internal/netpolicy"
	"coderunner/runners"
)

func TestOutcomeText(t *testing.T) {
	limits := runners.Limits{Timeout: 2500 * time.Millisecond, Memory: 256 << 20, Output: 1000}
	for _, tt := range []struct {
		name string
		out  runners.Outcome
		want string
	}{
		{"silent", runners.Outcome{Status: runners.Succeeded}, "The program succeeded and printed nothing."},
		{"all three", runners.Outcome{Status: runners.Succeeded, Stdout: "a\nb\n", Stderr: "warn\n", Result: &runners.Value{Text: "4"}},
			"stdout:\na\nb\nstderr:\nwarn\nresult: 4"},
		{"exit", runners.Outcome{Status: runners.Failed, ExitCode: 3, Stdout: "bye"}, "exit code: 3\nstdout:\nbye"},
		{"raised", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "ValueError", Message: "no", Traceback: "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n    first()\nValueError: no\n", Line: 1}},
			"ValueError: no\n  File \"main.py\", line 1, in <module>\n    first()"},
		{"raised with colours", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "E", Message: "at \x1b[4mx\x1b[0m", Traceback: "Traceback (most recent call last):\n  1\nE: at \x1b[4mx\x1b[0m\n"}}, "E: at x\n  1"},
		{"raised in JavaScript", runners.Outcome{Status: runners.Failed, Stdout: "before", Error: &runners.Error{Type: "TypeError", Message: "no", Traceback: "TypeError: no\n    at main.ts:2:3", Line: 2}},
			"TypeError: no\n    line 2: second()\n    at main.ts:2:3\nstdout:\nbefore"},
		{"raised with a code", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "TypeError", Message: "no\nmore", Traceback: "TypeError [ERR_X]: no\nmore\n    at main.ts:2:3", Line: 2}},
			"TypeError [ERR_X]: no\nmore\n    line 2: second()\n    at main.ts:2:3"},
		{"message of several lines", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "Z", Message: "[\n  1\n]", Traceback: "Z: [\n  1\n]\n    at main.ts:2:3", Line: 2}},
			"Z: [\n  1\n]\n    line 2: second()\n    at main.ts:2:3"},
		{"no error, of several lines", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "Array", Message: "[\n  1\n]", Traceback: "Uncaught [\n  1\n]\n    at main.ts:2:3"}}, "Array: [\n  1\n]\n    at main.ts:2:3"},
		{"chained", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "B", Message: "b\n", Traceback: "Traceback (most recent call last):\n  1\nA: a\n\nDuring …\n\nTraceback (most recent call last):\n  2\nm.B: b\n\n"}},
			"m.B: b\nTraceback (most recent call last):\n  1\nA: a\n\nDuring …\n\nTraceback (most recent call last):\n  2"},
		{"more than the traceback", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "E", Message: "m; hint", Traceback: "Traceback (most recent call last):\n  1\nE: m\n"}},
			"E: m; hint\n  1"},
		{"no traceback", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "SyntaxError", Message: "bad", Line: 2}}, "SyntaxError: bad\n    line 2: second()"},
		{"traceback without message", runners.Outcome{Status: runners.Failed, Error: &runners.Error{Type: "Error", Message: "x", Traceback: "at main.ts:1"}}, "Error: x\nat main.ts:1"},
		{"time", runners.Outcome{Status: runners.TimedOut, Stdout: "part"},
			"timed out after 2.5 s: raise it with timeout_seconds (at most 3600).\nstdout:\npart"},
		{"time, with threads", runners.Outcome{Status: runners.TimedOut, Error: &runners.Error{Type: "Timeout", Message: "the program ran longer than its limit of 2.5s\nhint", Traceback: "Traceback (most recent call last):\n  1\nKeyboardInterrupt\n\nThread T (most recent call last):\n  2\n"}},
			"timed out after 2.5 s: raise it with timeout_seconds (at most 3600).\nhint\n  1\n\nThread T (most recent call last):\n  2"},
		{"memory", runners.Outcome{Status: runners.OutOfMemory}, "out of memory: the limit is 256 MiB (CODE_RUNNER_MEMORY on the server)."},
		{"flood", runners.Outcome{Status: runners.OutputLimit}, "stopped because it printed more than 20000 bytes, 20 times what is kept (CODE_RUNNER_MAX_OUTPUT on the server): print less, or write to a file and print a part."},
		{"packages", runners.Outcome{Status: runners.NotInstalled, Error: &runners.Error{Packages: []runners.PackageError{{Name: "a>=2", Reason: "not found"}, {Name: "b", Reason: "no wheel"}}, Hint: "Instead of b, use c."}},
			"These packages cannot be installed:\n- a>=2: not found\n- b: no wheel\nInstead of b, use c."},
		{"files omitted", runners.Outcome{Status: runners.Succeeded, FilesOmitted: 3}, "note: At least 3 more files are not listed and not kept: write so many into one archive (zip, tar), or use a session."},
		{"files of a session omitted", runners.Outcome{Status: runners.Succeeded, FilesOmitted: 3, Continued: &runners.Continued{Session: "s", State: 2, Kept: true}},
			"note: At least 3 more files are in the session; list_files lists them.\nsession: s, state 2"},
		{"cancelled", runners.Outcome{Status: runners.Cancelled}, "The call was cancelled."},
		{"crashed", runners.Outcome{Status: runners.Crashed, Error: &runners.Error{Type: "Trap", Message: "unreachable"}},
			"The runtime died, by a bug in it or in compiled code that the program called.\nTrap: unreachable"},
		{"no value on failure", runners.Outcome{Status: runners.Failed, ExitCode: 1, Result: &runners.Value{Text: "4"}}, "exit code: 1"},
		{"columns", runners.Outcome{Status: runners.Succeeded, Result: &runners.Value{Text: "   a  b\n0  1  x"}}, "result:\n   a  b\n0  1  x"},
		{"records", runners.Outcome{Status: runners.Succeeded, Result: &runners.Value{Text: "[…]", JSON: json.RawMessage(`[{"a":1,"b":"x"},{"a":2,"b":"y|z"}]`)}},
			"result: 2 records\na | b\n1 | x\n2 | \"y|z\""},
		{"refused", runners.Outcome{Status: runners.Succeeded, Stdout: "a", Usage: runners.Usage{Contacted: []netpolicy.Contact{{Host: "b"}, {Host: "c", Refused: "c is refused"}}}},
			"stdout:\na\nnote: c is refused."},
		{"refused in its own words", runners.Outcome{Status: runners.Succeeded, Stdout: "c is refused", Usage: runners.Usage{Contacted: []netpolicy.Contact{{Host: "c", Refused: "c is refused"}}}},
			"stdout:\nc is refused"},
		{"bar", runners.Outcome{Status: runners.Succeeded, Stderr: "\r 0%\r 50%\r100%\n"}, "stderr:\n100%"},
	} {
		a := New(&tt.out, runners.Request{Code: "first()\n  second()"}, limits, dropped{})
		if got := a.Text(); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// Whatever a program does, a model is shown a bounded text.
func TestOutcomeTextIsBounded(t *testing.T) {
	big := strings.Repeat("é", 1<<20)
	out := &runners.Outcome{Status: runners.Failed, Stdout: big, Stderr: big, Result: &runners.Value{Text: big},
		Error: &runners.Error{Type: "E", Message: big, Traceback: big}}
	a := New(out, runners.Request{}, runners.Limits{}.WithDefaults(), dropped{})
	got := a.Text()
	structured, err := json.Marshal(a.Structured)
	if err != nil || len(structured) > 110_000 { // é has two bytes
		t.Errorf("%d bytes structured, %v", len(structured), err)
	}
	if len(got) > 60_000 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}

// dropped keeps nothing.
type dropped struct{}

func (dropped) Keep(name, _, _ string, _ []byte) string { return "runner://runs/x-1/" + name }
func (dropped) SessionFile(session, path string) string {
	return "runner://sessions/" + session + "/" + path
}

// TestFlood has a program that printed without end, of which a part is enough.
func TestFlood(t *testing.T) {
	for status, want := range map[runners.Status]int{runners.OutputLimit: maxFloodText, runners.Succeeded: MaxText} {
		out := runners.Outcome{Status: status, Stdout: strings.Repeat("spam\n", 9999)}
		a := New(&out, runners.Request{}, runners.Limits{Output: 50_000}, dropped{})
		if got := len(a.Structured.Stdout); got > want+100 || got < want-100 || !a.Structured.StdoutTruncated {
			t.Errorf("%s: %d bytes, want about %d", status, got, want)
		}
	}
}
