package runners

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"coderunner/internal/netpolicy"
	"coderunner/internal/project"
)

// Request is one program to run. As JSON, it is what another
// process can be handed of it.
type Request struct {
	Language Language
	Code     string
	Filename string   `json:",omitzero"` // as tracebacks show it; "" means main.py, main.js, main.ts, …
	Packages []string `json:",omitzero"` // "pydantic>=2", "npm:zod@3"
	Args     []string `json:",omitzero"`
	Files    []File   `json:",omitzero"` // written to the working directory before the run
	Limits   Limits

	// Project, if not nil, is a directory of the host that the program sees as its own. Files
	// are written over it.
	Project *project.View `json:"-"`

	// Stdin is the program's standard input; nil is empty. It is read from a
	// goroutine of its own, and a Read that blocks may outlive the run: the
	// caller ends it. What a JavaScript program does not read stays in a Peeker.
	Stdin io.Reader `json:"-"`

	// Terminal reports whether Stdin is a terminal, where a script's prompts are shown.
	Terminal bool `json:",omitzero"`

	// Stdout and Stderr, if not nil, get the program's output as it comes. An
	// error ends the program with the status OutputLimit, and is the only limit
	// of such a stream. If they are the same writer, the order of all output is
	// kept. They need not be safe for concurrent use then.
	Stdout, Stderr io.Writer `json:"-"`

	// Signals, if not nil, passes signals to the program.
	Signals *Signals `json:"-"`

	// Printed, if not nil, gets what the program prints on both streams as it
	// comes, from any goroutine, and must return quickly. It changes no limit.
	Printed func(p []byte) `json:"-"`

	// Client is whose program it is, where there are several: no two share a process.
	Client string `json:",omitzero"`

	// Locked refuses every package that is not in the program's inline lock,
	// with the hash that is stated there.
	Locked bool `json:",omitzero"`

	// Session, if not nil, is the session that the program continues.
	Session *Session `json:",omitzero"`

	// Ask, if not nil, asks the user about hosts that the policy does not have. The
	// time limit stands still meanwhile.
	Ask netpolicy.AskFunc `json:"-"`

	// Tools, if not nil, are the functions of other servers that the program may call. The
	// time limit stands still meanwhile, within a bound.
	Tools Tools `json:"-"`

	// Progress, if not nil, is called with the steps of the preparation, from
	// any goroutine, one call at a time.
	Progress ProgressFunc `json:"-"`
}

// Keyboard is an input that can change how its terminal takes keys.
type Keyboard interface {
	io.Reader
	// Mode has the terminal give lines or else each key at once, and echo what is
	// typed or not, until restore is called.
	Mode(lines, echo bool) (restore func())
}

// Peeker is an input that others read when the program has ended. A Read leaves
// what it returns in the input, until the next Read or Consumed.
type Peeker interface {
	io.Reader
	// Consumed takes from the input what the program has read of it: the first
	// n bytes since the start of the run.
	Consumed(n int64)
}

// Bounds of a request. Whatever is larger is a mistake or an attack.
const (
	MaxCode       = 2 << 20 // bytes
	MaxFilesBytes = 16 << 20
	MaxFiles      = 1000
	maxPackages   = 100
	maxPackage    = 512 // bytes of one requirement
	maxArgs       = 1000
	maxArgsBytes  = 128 << 10
)

// MaxCodeOf returns the most bytes that a program of a language may have: a module is as
// large as a file may be, in base64.
func MaxCodeOf(l Language) int {
	if l == WASM {
		return MaxFilesBytes / 3 * 4
	}
	return MaxCode
}

// RequestError is a request that makes no sense. Message is one sentence that
// names the argument and the fix.
type RequestError struct {
	Argument string
	Message  string
}

func (e *RequestError) Error() string { return e.Message }

// BadArgument returns a *RequestError whose message is the argument's name in
// quotes and the formatted rest of the sentence.
func BadArgument(name, format string, args ...any) error {
	return &RequestError{Argument: name, Message: fmt.Sprintf("%q ", name) + fmt.Sprintf(format, args...)}
}

// Check checks the request's code, packages, arguments and files: their
// number, sizes, names and paths. Every runner calls it; what a language asks
// beyond that, such as the syntax of a requirement, is the runner's to check.
// The error is a *[RequestError].
func (r *Request) Check() error {
	if most := MaxCodeOf(r.Language); len(r.Code) > most {
		return BadArgument("code", `is %d bytes long; at most %d are taken, so pass data in "files" or "stdin".`, len(r.Code), most)
	}
	if err := checkPackages(r.Packages); err != nil {
		return err
	}
	if err := checkArgs(r.Args); err != nil {
		return err
	}
	return checkFiles(r.Files)
}

func checkPackages(packages []string) error {
	if len(packages) > maxPackages {
		return BadArgument("packages", "has %d elements; at most %d are taken.", len(packages), maxPackages)
	}
	for i, p := range packages {
		switch {
		case strings.TrimSpace(p) == "":
			return BadArgument("packages", "has an empty string as element %d: write a requirement such as \"pydantic>=2\" or \"npm:zod@3\".", i)
		case len(p) > maxPackage || strings.ContainsFunc(p, unicode.IsControl):
			return BadArgument("packages", "has no package name as element %d: at most %d bytes on one line.", i, maxPackage)
		}
	}
	return nil
}

func checkArgs(args []string) error {
	total := 0
	for i, s := range args {
		total += len(s)
		if strings.ContainsRune(s, 0) {
			return BadArgument("args", "has a NUL character in element %d, which no command line can carry.", i)
		}
	}
	if len(args) > maxArgs || total > maxArgsBytes {
		return BadArgument("args", `is too long: at most %d elements and %d bytes; pass data in "files" or "stdin".`, maxArgs, maxArgsBytes)
	}
	return nil
}

// separator stands for the slash where paths are sorted: no character of a
// name sorts before it.
const separator = "\x00"

func checkFiles(files []File) error {
	if len(files) > MaxFiles {
		return BadArgument("files", "has %d elements; at most %d are taken.", len(files), MaxFiles)
	}
	total := 0
	paths := make([]string, len(files))
	for i, f := range files {
		if !ValidPath(f.Path) {
			return BadArgument("files", `has the path %q, which must be relative, with "/" between its parts, without "..", and at most %d bytes long, each part %d.`, Clip(f.Path, 200), maxPath, maxPathPart)
		}
		if total += len(f.Data); total > MaxFilesBytes {
			return BadArgument("files", "has more than %d bytes in all.", MaxFilesBytes)
		}
		paths[i] = strings.ReplaceAll(f.Path, "/", separator)
	}
	slices.Sort(paths) // a file comes directly before what is inside it
	shown := func(path string) string { return Clip(strings.ReplaceAll(path, separator, "/"), 200) }
	for i := 1; i < len(paths); i++ {
		switch before, path := paths[i-1], paths[i]; {
		case before == path:
			return BadArgument("files", "has %q twice.", shown(path))
		case strings.HasPrefix(path, before+separator):
			return BadArgument("files", "has %q and %q, but one cannot be both a file and a directory.", shown(before), shown(path))
		}
	}
	return nil
}

// Captures returns what captures the output of the request's program. What has
// a writer is passed on to it at once, and has no other limit than the writer's.
func (r *Request) Captures() (stdout, stderr *Capture) {
	stdout, stderr = NewCapture(r.Limits.Output), NewCapture(r.Limits.Output)
	stdout.live, stderr.live = r.Stdout, r.Stderr
	stdout.printed, stderr.printed = r.Printed, r.Printed
	return stdout, stderr
}
