package ending

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/process"
	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
)

// TestLastWords has what V8 and Rust say when they run out of memory, from
// one thread and from several at once.
func TestLastWords(t *testing.T) {
	const segment = "\n\n#\n# Fatal process out of memory: Worklist::Segment::Create\n#\n"
	const panic = "\n============================================================\n" + panicked + " Please report this\nat https://127.0.0.1/\n\n"
	for _, tt := range []struct{ name, words, stderr string }{
		{"V8", segment, ""},
		{"two threads", segment + segment, ""},
		{"interleaved", "\n\n#\n\n\n#\n# Fatal process out of memory: a\n# Fatal process out of memory: b\n#\n#", ""},
		{"after the program's", "mine\n" + segment + segment, "mine"},
		{"after an open line", "mine" + segment, "mine"},
		{"heap", "mine\n\n<--- Last few GCs --->\n\n[1:0x1] 10 ms: Mark-Compact\n\n<--- JS stacktrace --->\n\n\n#\n# Fatal JavaScript out of memory: Ineffective mark-compacts near heap limit\n#\n", "mine"},
		{"C library", "mine\nFatal glibc error: failed to register TLS destructor: out of memory\nFatal glibc error: failed to register TLS destructor: out of memory\n", "mine"},
		{"C++", "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n", ""},
		{"no thread", "mine\n" + panic + "thread 'main' panicked at worker.rs:1\nfailed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }\n", "mine"},
		{"Rust", "# mine\n#\nmemory allocation of 4096 bytes failed\n", "# mine\n#"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &Ending{Signal: syscall.SIGTRAP}
			var status runners.Status
			stderr := e.died(tt.words, func(s runners.Status, _, _ string, _ ...any) { status = s })
			if status != runners.OutOfMemory || stderr != tt.stderr {
				t.Errorf("status %s, stderr %q, want %q", status, stderr, tt.stderr)
			}
		})
	}
}

// TestEndings has processes end in ways that few programs can be made to.
func TestEndings(t *testing.T) {
	const panic = "\n============================================================\n" + panicked + " Please report this\n\nthread 'main' panicked at x.rs:1\n"
	abort, segv := syscall.SIGABRT, syscall.SIGSEGV
	const glibc = "\nFatal glibc error: out of memory\n"
	const v8 = "\n#\n# Fatal JavaScript out of memory: Reached heap limit\n#\n"
	const size = "\n#\n# Fatal error with no security impact:\n# Fatal JavaScript invalid size error 268435456 (see crbug.com/1201626)\n#\n"
	used := func(mib int64) runners.Usage { return runners.Usage{PeakMemoryBytes: mib << 20} }
	for _, tt := range []struct {
		name, stderr string
		end          Ending
		want         runners.Status
		says, left   string
		memory       bool // the message says that this happens when it runs out
	}{
		{"abort of a small one", "", Ending{Signal: abort, Used: used(63)}, runners.Failed, "by a signal (aborted)", "", false},
		{"abort of a large one", "", Ending{Signal: abort, Used: used(64), Filled: true}, runners.Failed, "up to 64 MiB, Deno's own included, and its limit is 128 MiB", "", true},
		{"abort with the C library's words", "mine" + glibc, Ending{Signal: abort, Filled: true}, runners.OutOfMemory, "limit of 128 MiB", "mine", false},
		{"abort with forged words", "mine" + glibc, Ending{Signal: abort}, runners.Failed, "by a signal (aborted)", "mine" + glibc, false},
		{"abort with other words", "mine" + panic, Ending{Signal: abort}, runners.Failed, "by a signal (aborted)", "mine" + panic, false},
		{"V8 gives up", "mine" + v8, Ending{Signal: syscall.SIGTRAP}, runners.OutOfMemory, "limit of 128 MiB", "mine", false},
		{"V8 gives up, unconfined", "mine" + v8, Ending{Signal: syscall.SIGTRAP, Free: true}, runners.Failed, "by a signal (trace", "mine" + v8, false},
		{"an array too large", "mine" + size, Ending{Signal: syscall.SIGTRAP}, runners.Failed, "more elements than V8 allows (268435456)", "mine", false},
		{"segmentation fault", "", Ending{Signal: segv, Used: used(40)}, runners.Crashed, "Deno was ended by a signal (segmentation fault)", "", false},
		{"segmentation fault, unconfined", "", Ending{Signal: segv, Free: true}, runners.Failed, "by a signal (segmentation fault)", "", false},
		{"segmentation fault of a large one", "mine", Ending{Signal: segv, Used: used(170), Filled: true}, runners.Crashed, "up to 170 MiB", "mine", true},
		{"killed", "", Ending{Signal: syscall.SIGKILL, Filled: true}, runners.Failed, "by a signal (killed)", "", false},
		{"panic", "mine" + panic + "oh\n", Ending{ExitCode: 1}, runners.Failed, "Deno panicked", "mine" + panic + "oh\n", false},
		{"panic without memory", "mine" + panic + "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)\n", Ending{ExitCode: 1, Filled: true}, runners.OutOfMemory, "limit of 128 MiB", "mine", false},
		{"broken report", "", Ending{Report: Report{broken: errReport}}, runners.Failed, "overwritten by the program", "", false},
		{"broken report at the limit", "", Ending{Stopped: process.StopTime, Report: Report{broken: errReport}}, runners.TimedOut, "longer than its limit", "", false},
	} {
		e := &tt.end
		e.Limits.Memory = 128 << 20
		e.Program, e.Stdout, e.Stderr = jsparse.Plain(""), runners.NewCapture(1000), runners.NewCapture(1000)
		if _, err := e.Stderr.Write([]byte(tt.stderr)); err != nil {
			t.Fatal(err)
		}
		o := e.Outcome()
		if o.Status != tt.want || o.Error == nil || !strings.Contains(o.Error.Message, tt.says) || o.Stderr != tt.left {
			t.Errorf("%s: %s %+v, stderr %q", tt.name, o.Status, o.Error, o.Stderr)
		} else if strings.Contains(o.Error.Message, "memory runs out") != tt.memory {
			t.Errorf("%s: %s", tt.name, o.Error.Message)
		}
	}
}

// TestOvertime has what is told of programs at their time limit.
func TestOvertime(t *testing.T) {
	ended := Report{result: &value{}}
	for _, tt := range []struct {
		source string
		used   int64 // ms of 10 s
		report Report
		want   string // its beginning
	}{
		{"let n = 0;\nfor (const a of [1]) n++;\nwhile (n > 0) n++;", 9000, Report{}, "\nIt was computing (9.0 s of processor time), as in a loop without an end: its loop is in line 3."},
		{"for (let i = 0; i < 5; i--) {}\nfor (;;) {}\n", 3000, Report{}, "\nIt was computing (3.0 s of processor time), as in a loop without an end: its loops are in the lines 1, 2."},
		{"/(a+)+$/.test(a)", 9000, Report{}, "\nIt was computing (9.0 s of processor time), as in a loop without an end."},
		{"await new Promise((ok) => setTimeout(ok, 1e6))", 50, Report{}, "\nIt was waiting"},
		{"await f()", 700, Report{}, ""},
		{"setInterval(f, 100)", 9000, ended, "\n" + LeftOpen},
		{"describe('a', () => { it.only('b', f) })", 50, ended, "\nIt was waiting"},
		{"serve(f)", 50, Report{served: true, result: ended.result}, "\n" + OnlyItself},
	} {
		e := Ending{Program: jsparse.Plain(tt.source), Report: tt.report, Limits: runners.Limits{Timeout: 10 * time.Second}, Used: runners.Usage{CPUMS: tt.used}}
		if got := e.overtime(); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%q: %q, want %q", tt.source, got, tt.want)
		}
	}
}
