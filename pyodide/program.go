package pyodide

import (
	"encoding/json"
	"fmt"
	"time"
)

// Program is one Python program to run.
type Program struct {
	Code     string
	Filename string   // as tracebacks show it; "" means main.py
	Args     []string // sys.argv[1:]
	Dir      string   // the working directory, below the one at the start
	Path     []string // of sys.path, at its end, below the same

	// Beside are the names in the working directory, nil if the guest has to look.
	Beside []string

	// Analysis is that of Code with the name Filename, or nil. It spares the run
	// from parsing the program.
	Analysis *Analysis

	// Session keeps what the program leaves in __main__ for the interpreter's next
	// program, and lists it in Result.Variables. What is to be done at exit is not
	// done.
	Session bool

	// Parks, if not nil, reports whether the program may be parked now if it asks for it. It is
	// called while the program runs.
	Parks func() bool

	// Timeout limits the execution, including the host's work for the program;
	// 0 is no limit.
	Timeout time.Duration

	// WaitLimit bounds the time, in total, for which the program's clock stands
	// still while calls wait for the network; 0 means Timeout.
	WaitLimit time.Duration

	// ResultLimit bounds each text of the result, in characters; 0 means
	// 50000, and more than 1 Mi is not possible.
	ResultLimit int

	// Offered are modules that the call "extras.import" installs when a library
	// imports them.
	Offered []string
}

func (p Program) waitLimit() time.Duration {
	if p.WaitLimit > 0 {
		return p.WaitLimit
	}
	return p.Timeout
}

// Ended is how a run ended, as the host saw it.
type Ended uint8

// The ends. After the first two the interpreter may be used again; after the
// others only Close is possible.
const (
	Finished    Ended = iota // returned, raised or exited
	Interrupted              // the time limit, seen by the program as KeyboardInterrupt
	Stopped                  // the time limit, by force
	Cancelled                // the context ended
	Parked                   // by itself, see Program.Parks; only Unpark and Snapshot are possible
	Flooded                  // Stdout or Stderr refused a write
	Trapped                  // WebAssembly's own checks ended it; see Result.Trap
	Unreported               // the program broke the guest's half, which sent no valid report
	Died                     // memory ran out in C, or our fault
)

var endedNames = [...]string{"finished", "interrupted", "stopped", "cancelled", "parked", "flooded", "trapped", "unreported", "died"}

func (e Ended) String() string { return endedNames[e] }

// StackOverflow is the Result.Trap of a program that nests too deeply for C.
const StackOverflow = "stack overflow"

// Result is the result of a run. ExitCode, Value and Exception are what the
// program's own interpreter reports, of bounded size and nothing more.
type Result struct {
	Ended     Ended
	ExitCode  int
	Exited    bool       // by sys.exit or SystemExit
	Signal    int        // that ends the process, of Exec; 0: none
	Value     *Value     // of the last expression; nil for None, or if there is none
	Exception *Exception // nil unless one was uncaught

	Variables        []Variable // of a session, sorted by name
	VariablesOmitted int

	ThreadsEnded int // threads that still ran, beside the main one, when the program ended

	Trap  string // what the trap was, when Ended is Trapped
	Cause error  // why, when Ended is Flooded or later

	CPUTime      time.Duration // 0 where unknown (it is known on Linux)
	PeakMemory   int64         // bytes of linear memory
	MemoryCapHit bool          // the last request for memory exceeded Options.Memory
}

// Variable is a global variable, by its name and its type's.
type Variable struct{ Name, Type string }

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
	NoMemory  bool   // a MemoryError, or of a subclass
	Shown     bool   // by the program's sys.excepthook
	// Suggestion is the module that a program may have meant which is missing.
	Suggestion string
}

// request and report are what the guest's run function takes and returns; see
// guest/coderunner.py.
type request struct {
	Code        string            `json:"code"`
	Filename    string            `json:"filename"`
	Args        []string          `json:"args"`
	Dir         string            `json:"dir,omitempty"`
	Path        []string          `json:"path,omitempty"`
	Env         map[string]string `json:"env"`
	NewZone     bool              `json:"new_zone,omitempty"` // the snapshot was made in another
	Beside      []string          `json:"beside,omitempty"`
	ResultLimit int               `json:"result_limit"`
	Compiled    string            `json:"compiled,omitempty"`
	Offered     []string          `json:"offered,omitempty"`
	Session     bool              `json:"session,omitempty"`
	StdinRead   bool              `json:"stdin_read,omitempty"` // by the session's earlier program
}

type report struct {
	ExitCode  int     `json:"exit_code"`
	Signal    int     `json:"signal"`
	Repr      *string `json:"repr"`
	JSON      string  `json:"json"`
	Type      string  `json:"type"`
	Message   string  `json:"message"`
	Traceback string  `json:"traceback"`
	Line      int     `json:"line"`
	NoMemory  bool    `json:"no_memory"`
	Shown     bool    `json:"shown"`
	Exited    bool    `json:"exited"`

	Suggestion string `json:"suggestion"`

	Variables        [][2]string `json:"variables"`
	VariablesOmitted int         `json:"variables_omitted"`
}

func (p Program) request(env map[string]string) request {
	r := request{Code: p.Code, Filename: p.Filename, Args: p.Args, Dir: p.Dir, Path: p.Path, Env: env, Beside: p.Beside, ResultLimit: p.ResultLimit, Offered: p.Offered, Session: p.Session}
	if p.Analysis != nil {
		r.Compiled = p.Analysis.compiled
	}
	if r.Filename == "" {
		r.Filename = "main.py"
	}
	if r.Args == nil {
		r.Args = []string{}
	}
	if r.ResultLimit <= 0 {
		r.ResultLimit = 50_000
	}
	r.ResultLimit = min(r.ResultLimit, 1<<20)
	return r
}

// maxReport returns the maximum length of the report, in bytes: a repr, a message
// and a traceback of ResultLimit characters of at most twelve bytes in JSON each,
// JSON in JSON, short fields, and the variables.
func (r request) maxReport() uint32 { return uint32(512<<10 + 40*r.ResultLimit) }

// maxVariables bounds the variables that a report lists, maxVariable the bytes of a
// name.
const (
	maxVariables = 200
	maxVariable  = 1024
)

// maxTypeName bounds the name of an exception's type, in bytes.
const maxTypeName = 256

// readReport reads a report. It is untrusted: a program can replace its maker.
func readReport(text string) (*Result, error) {
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, &guestError{fmt.Sprintf("not a report: %v", err)}
	}
	if r.ExitCode < 0 || r.ExitCode > 255 || r.Signal < 0 || r.Signal > maxSignal || r.Line < 0 || len(r.Type) > maxTypeName || len(r.Suggestion) > maxTypeName || len(r.Variables) > maxVariables || r.VariablesOmitted < 0 {
		return nil, &guestError{"a report with values out of range"}
	}
	res := &Result{ExitCode: r.ExitCode, Signal: r.Signal, VariablesOmitted: r.VariablesOmitted, Exited: r.Exited}
	for _, v := range r.Variables {
		if len(v[0])+len(v[1]) > maxVariable {
			return nil, &guestError{"a report with long names"}
		}
		res.Variables = append(res.Variables, Variable{v[0], v[1]})
	}
	if r.Repr != nil {
		res.Value = &Value{Repr: *r.Repr}
		if r.JSON != "" && json.Valid([]byte(r.JSON)) {
			res.Value.JSON = json.RawMessage(r.JSON)
		}
	}
	if r.Type != "" {
		res.Exception = &Exception{Type: r.Type, Message: r.Message, Traceback: r.Traceback, Line: r.Line, NoMemory: r.NoMemory, Shown: r.Shown, Suggestion: r.Suggestion}
		res.ExitCode = max(res.ExitCode, 1)
	}
	return res, nil
}

// guestError is an invalid answer of the guest's half: an exception or an
// unexpected value. A program can cause it.
type guestError struct{ what string }

func (e *guestError) Error() string { return e.what }
