package runners

import (
	"encoding/json"
	"fmt"
	"strings"

	"coderunner/internal/netpolicy"
)

// Status is how a run ended.
type Status string

// The statuses.
const (
	Succeeded    Status = "succeeded"
	Failed       Status = "failed"        // raised, threw, exited non-zero
	TimedOut     Status = "timed_out"     // Limits.Timeout
	OutOfMemory  Status = "out_of_memory" // Limits.Memory
	OutputLimit  Status = "output_limit"  // far more output than Limits.Output
	NotInstalled Status = "not_installed" // a package cannot be installed
	Cancelled    Status = "cancelled"     // the caller's context ended
	Paused       Status = "paused"        // waits for the user's consent to calls of tools
	Crashed      Status = "crashed"       // the runtime died, by a bug in it or in compiled code
)

// Outcome is how a run went, as "run --json" prints it. internal/answer makes a
// shorter result of it for clients.
type Outcome struct {
	Status          Status    `json:"status"`
	Language        Language  `json:"language,omitempty"` // when it was found in the program's text
	ExitCode        int       `json:"exit_code"`
	Stdout          string    `json:"stdout"`
	Stderr          string    `json:"stderr"`
	StdoutTruncated bool      `json:"stdout_truncated"`
	StderrTruncated bool      `json:"stderr_truncated"`
	Result          *Value    `json:"result"` // nil: no value, None or undefined
	Error           *Error    `json:"error"`  // nil when Status is Succeeded or a plain exit
	Packages        []Package `json:"packages"`
	Usage           Usage     `json:"usage"`

	// What the program showed, and left in its working directory, within
	// bounds. Omitted is how many more there were.
	Displays        []Display  `json:"displays,omitempty"`
	DisplaysOmitted int        `json:"displays_omitted,omitempty"`
	Files           []LeftFile `json:"files,omitempty"`
	FilesOmitted    int        `json:"files_omitted,omitempty"`

	// Note is what the program's author should know besides, a sentence.
	Note string `json:"note,omitempty"`

	// Continued is set if the request had a session.
	Continued *Continued `json:"session,omitempty"`

	// Journal is what whoever runs a program that is Paused needs to go on.
	Journal json.RawMessage `json:"-"`

	// WholeStdout and WholeStderr are all of a stream that is truncated above,
	// "" if not all was kept.
	WholeStdout string `json:"-"`
	WholeStderr string `json:"-"`
}

// CancelledOutcome returns the outcome of a run whose program was cancelled before it
// started.
func CancelledOutcome() *Outcome {
	return &Outcome{Status: Cancelled, ExitCode: 128 + 9, Packages: []Package{}, Error: Limits{}.Exceeded(Cancelled)}
}

// Printed sets what the program printed.
func (o *Outcome) Printed(stdout, stderr *Capture) {
	o.Stdout, o.StdoutTruncated = stdout.Text()
	o.Stderr, o.StderrTruncated = stderr.Text()
	o.WholeStdout, o.WholeStderr = stdout.Whole(), stderr.Whole()
}

// Contacter is a network that tells what a run reached, as *[netpolicy.Run] does.
type Contacter interface {
	Contacts() (list []netpolicy.Contact, more int)
}

// Reached sets what the program reached over the network. Where the program failed and
// something was refused, the error's hint names the flag.
func (o *Outcome) Reached(n Contacter) {
	o.Usage.Contacted, o.Usage.ContactsOmitted = n.Contacts()
	if o.Error == nil || o.Error.Hint != "" || o.Status != Failed {
		return
	}
	for _, c := range o.Usage.Contacted {
		if c.Refused != "" && !strings.Contains(o.Error.Message, c.Refused) {
			o.Error.Hint = c.Refused
			return
		}
	}
}

// Refusals returns what the network refused, except what the error or the program's
// output has.
func (o *Outcome) Refusals() (list []string) {
	said := o.Stdout + o.Stderr
	if o.Error != nil {
		said += o.Error.Message
	}
	for _, c := range o.Usage.Contacted {
		if c.Refused != "" && !strings.Contains(said, c.Refused) {
			list = append(list, c.Refused)
		}
	}
	return list
}

// Error is what ended the program.
type Error struct {
	Type      string `json:"type"` // "ZeroDivisionError", "TypeError", "Timeout"
	Message   string `json:"message"`
	Traceback string `json:"traceback,omitempty"` // the user's file and lines only
	Line      int    `json:"line,omitempty"`      // in the user's file, from 1
	// Shown reports that the program itself has printed it.
	Shown bool `json:"-"`
	// Packages has a reason for every package that cannot be installed, when
	// the status is NotInstalled.
	Packages []PackageError `json:"packages,omitempty"`
	// Hint is what could be used instead of them, or set on the server.
	Hint string `json:"hint,omitempty"`
}

// PackageError is a package that cannot be installed, and why.
type PackageError struct {
	Name   string `json:"name"` // as requested: "numpy>=2"
	Reason string `json:"reason"`
}

// NotInstalledError lists the packages that cannot be installed. It is never
// empty: see [NotInstalledError.OrNil].
type NotInstalledError struct{ Packages []PackageError }

// Add adds a package.
func (e *NotInstalledError) Add(name, reason string) {
	e.Packages = append(e.Packages, PackageError{Name: name, Reason: reason})
}

// OrNil returns e, or nil if the list is empty.
func (e *NotInstalledError) OrNil() error {
	if len(e.Packages) == 0 {
		return nil
	}
	return e
}

func (e *NotInstalledError) Error() string {
	texts := make([]string, len(e.Packages))
	for i, p := range e.Packages {
		texts[i] = p.Name + ": " + p.Reason
	}
	return "cannot install " + strings.Join(texts, "; ")
}

// Outcome returns the outcome of a run that ended here.
func (e *NotInstalledError) Outcome() *Outcome {
	names := make([]string, len(e.Packages))
	for i, p := range e.Packages {
		names[i] = p.Name
	}
	return &Outcome{
		Status: NotInstalled, ExitCode: 1, Packages: []Package{},
		Error: &Error{Type: "NotInstalled", Message: "cannot install " + strings.Join(names, ", "), Packages: e.Packages},
	}
}

// Package is a package that was installed for the program.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"`           // "pypi", "pyodide", "npm", "jsr", "url"
	SHA256  string `json:"sha256,omitempty"` // hexadecimal
	// Integrity is the registry's own digest where it is not a SHA-256, as npm
	// writes it ("sha512-…").
	Integrity string `json:"integrity,omitempty"`
	Cached    bool   `json:"cached"` // nothing was downloaded for it in this run
	// Adapted is set for a package whose machine code is left out or replaced by
	// Python: its results are the same, its speed is not.
	Adapted bool `json:"adapted,omitempty"`
}

// maxFetched bounds the packages that Fetched names.
const maxFetched = 10

// Fetched returns a sentence about the packages that were downloaded for the first time,
// for somebody who may have meant others, "" if there are none.
func (o *Outcome) Fetched() string {
	var names []string
	more := 0
	for _, p := range o.Packages {
		switch {
		case p.Cached:
		case len(names) == maxFetched:
			more++
		default:
			names = append(names, Clip(p.Name+" "+p.Version, 100)+" ("+p.Source+")")
		}
	}
	if names == nil {
		return ""
	}
	text := "Fetched for the first time: " + strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// Usage is what a run took.
type Usage struct {
	QueueMS         int64 `json:"queue_ms"`   // waiting for a free place
	PrepareMS       int64 `json:"prepare_ms"` // runtime and packages
	RunMS           int64 `json:"run_ms"`
	CPUMS           int64 `json:"cpu_ms"`
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`

	// Contacted is what the program reached over the network, or was refused;
	// ContactsOmitted is how many more there were.
	Contacted       []netpolicy.Contact `json:"contacted,omitempty"`
	ContactsOmitted int                 `json:"contacts_omitted,omitempty"`

	// ToolCalls is how often the program has called tools of other servers.
	ToolCalls int `json:"calls,omitempty"`
}
