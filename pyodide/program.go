package pyodide

import (
	"context"
	"encoding/json"
	"time"
)

// Program is one Python program to run.
type Program struct {
	Code     string
	Filename string   // as tracebacks show it; "" means main.py
	Args     []string // sys.argv[1:]

	// Timeout limits the execution; 0 does not. What the program waits for in
	// Imports and in Options.Calls is not counted.
	Timeout time.Duration

	// Imports, if set, is called after the program was parsed and before it
	// runs, with the modules that it imports, if any are neither its own nor
	// the standard library's. It may call [Interp.Mount]. An error from it
	// ends the run and is what Run returns. With AlwaysAsk it is called even
	// if there are none.
	Imports   func(ctx context.Context, wanted []Import) error
	AlwaysAsk bool

	// ResultLimit bounds the text of the result, in characters; 0 means 50000.
	ResultLimit int
}

// Import is a module that a program wants.
type Import struct {
	Name     string // dotted, as it is written
	Optional bool   // the program may never reach it, or copes without
	Present  bool   // it is in a mounted package
}

// Ended says how a run came to its end.
type Ended uint8

// The ends. After the first two the interpreter may be used again; after the
// others only Close is possible.
const (
	Finished    Ended = iota // returned, raised or exited
	Interrupted              // the time limit, seen by the program as KeyboardInterrupt
	Stopped                  // the time limit, by force
	Cancelled                // the context ended
	Flooded                  // Stdout or Stderr refused a write
	Died                     // a trap: the native stack overflowed, memory ran out in C, our fault
)

var endedNames = [...]string{"finished", "interrupted", "stopped", "cancelled", "flooded", "died"}

func (e Ended) String() string { return endedNames[e] }

// Result is how a program went.
type Result struct {
	Ended     Ended
	ExitCode  int
	Value     *Value     // of the last expression; nil for None, or if there is none
	Exception *Exception // nil unless one was uncaught
	Cause     error      // why, when Ended is Flooded or Died

	CPUTime      time.Duration // 0 where the system does not tell (it does on Linux)
	PeakMemory   int64         // bytes of linear memory
	MemoryCapHit bool          // the last that the program asked for was more than Options.Memory
}

// Value is the value of a program's last expression.
type Value struct {
	Repr string
	JSON json.RawMessage // nil unless the value is JSON
}

// Exception is an uncaught exception.
type Exception struct {
	Type      string // unqualified: "JSONDecodeError"
	Message   string
	Traceback string // the program's own files and lines only
	Line      int    // the innermost of the program's lines, 0 if there is none
}

// request and report are what the guest's run function takes and gives; see
// guest/coderunner.py.
type request struct {
	Code        string            `json:"code"`
	Filename    string            `json:"filename"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Imports     bool              `json:"imports"`
	AlwaysAsk   bool              `json:"always_ask"`
	NewZone     bool              `json:"new_zone"` // the snapshot was made in another
	ResultLimit int               `json:"result_limit"`
}

type report struct {
	ExitCode    int     `json:"exit_code"`
	Repr        *string `json:"repr"`
	JSON        string  `json:"json"`
	Interrupted bool    `json:"interrupted"`
	Type        string  `json:"type"`
	Message     string  `json:"message"`
	Traceback   string  `json:"traceback"`
	Line        int     `json:"line"`
}

func (p Program) request(env map[string]string) request {
	r := request{Code: p.Code, Filename: p.Filename, Args: p.Args, Env: env, Imports: p.Imports != nil, AlwaysAsk: p.AlwaysAsk, ResultLimit: p.ResultLimit}
	if r.Filename == "" {
		r.Filename = "main.py"
	}
	if r.Args == nil {
		r.Args = []string{}
	}
	if r.ResultLimit <= 0 {
		r.ResultLimit = 50_000
	}
	return r
}

// result translates a report.
func (r report) result() *Result {
	res := &Result{ExitCode: r.ExitCode}
	if r.Interrupted {
		res.Ended = Interrupted
	}
	if r.Repr != nil {
		res.Value = &Value{Repr: *r.Repr}
		if r.JSON != "" && json.Valid([]byte(r.JSON)) {
			res.Value.JSON = json.RawMessage(r.JSON)
		}
	}
	if r.Type != "" {
		res.Exception = &Exception{Type: r.Type, Message: r.Message, Traceback: r.Traceback, Line: r.Line}
	}
	return res
}
