package worker

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"coderunner/runners"
	"coderunner/runners/python/install"
)

// The methods. Those of the server come first.
const (
	callOpen    = iota // settings; over the worker's own socket, once
	noteRun            // the socket of a run
	notePagemap        // /proc/PID/pagemap, which a confined process may not open
	callRun            // request: outcome; over the run's
	callStat           // of a file that a session's program left
	callReadDir
	callRead
	callReadLink
	callHold   // the run's clock, until the call is cancelled
	noteOutput // the file that the next snapshot is written to; over the worker's own, as what follows
	callTake   // snapshot
	callBuild  // sdist: built
	callSources

	callFind // lookup: path; the first that a worker may call
	callRuntime
	callRequire  // what a build requires: directories
	callCompiled // one of the sources
	callGuest
	callPrepare
	callLibrary
	callCompile
	callPart
	callSnapshot
	callModules
	callIndexed
	callBase
	callIntercept
	callLookup
	callAvoided
	callAdmit
	callMayListen
	callDial
	callListen
	callAccept
	callListenPacket
	callCheck
	callSend
	callReceive
	callHangUp
	callSaved
	callFile
	callLink
	callKeep
	callLeave
	callTools
	notePrinted
	noteSaved // a name, a line break, and what is saved under it
	noteProgress
)

// settings are what a worker is opened with.
type settings struct {
	Permissions []string
	Env         map[string]string // of the host's, what programs may see
	CacheRoot   string
	Refusal     string // why running programs may not reach the index
	Ahead       int
	Memory      int64 // of the process itself, without runs
	Guests      []runners.Language
	// Intercepted reports that somebody intercepts connections, with the certificate Root.
	Intercepted bool
	Root        []byte
}

// request is a [runners.Request] as plain data, and what a worker asks the server for instead of
// the rest.
type request struct {
	runners.Request
	Input  *[]byte `json:",omitzero"` // nil: there is none
	Asks   bool    `json:",omitzero"` // the user can be asked
	Tools  bool    `json:",omitzero"` // there are tools
	Prints bool    `json:",omitzero"` // what is printed is wanted as it comes
	Save   string  `json:",omitzero"` // the session's, in the worker's directory
}

// encodeRequest returns a request as data, and false if it has what cannot cross: the
// streams, signals and directories of a program that somebody runs at a terminal. Any other
// program's input is read as a whole, whatever it is: the server runs no program itself.
func encodeRequest(r runners.Request) (q request, ok bool, err error) {
	q = request{Request: r, Asks: r.Ask != nil, Tools: r.Tools != nil, Prints: r.Printed != nil}
	q.Client = "" // the server's word for whom it serves
	if r.Project != nil || r.Stdout != nil || r.Stderr != nil || r.Signals != nil || r.Terminal {
		return q, false, nil
	}
	if r.Stdin != nil {
		input, err := io.ReadAll(r.Stdin)
		if err != nil {
			return q, true, fmt.Errorf("read the program's input: %w", err)
		}
		q.Input = &input
	}
	return q, true, nil
}

// outcome is a [runners.Outcome] as plain data.
type outcome struct {
	runners.Outcome
	Whole    [2]string `json:",omitzero"`
	Contents [][]byte  `json:",omitzero"` // of the files
	Shown    bool      `json:",omitzero"` // Error.Shown
	Exited   bool      `json:",omitzero"` // Continued.Exited
	Keeps    []string  `json:",omitzero"` // what the session is to keep: see connectSession
	Empty    bool      `json:",omitzero"` // so is the session's directory, of which nothing was told
	Shows    []display `json:",omitzero"`
}

// display is what [runners.Displays.Add] takes.
type display struct{ MIME, Data, Plain string }

func encodeOutcome(o *runners.Outcome) outcome {
	e := outcome{Outcome: *o, Whole: [2]string{o.WholeStdout, o.WholeStderr}}
	for _, f := range o.Files {
		e.Contents = append(e.Contents, f.Data)
	}
	for _, d := range o.Displays {
		data := string(d.Data)
		if d.Image() {
			data = base64.StdEncoding.EncodeToString(d.Data)
		}
		e.Shows = append(e.Shows, display{d.MIME, data, d.Plain})
	}
	e.Outcome.Displays = nil
	e.Shown = o.Error != nil && o.Error.Shown
	e.Exited = o.Continued != nil && o.Continued.Exited
	return e
}

// decode returns the outcome, of which a worker may have made up anything.
func (e *outcome) decode() (*runners.Outcome, error) {
	o := &e.Outcome
	if !slices.Contains([]runners.Status{
		runners.Succeeded, runners.Failed, runners.TimedOut, runners.OutOfMemory, runners.OutputLimit, runners.NotInstalled, runners.Cancelled, runners.Crashed, runners.Paused,
	}, o.Status) || len(e.Contents) > len(o.Files) {
		return nil, errors.New("a worker reports no outcome")
	}
	o.WholeStdout, o.WholeStderr = e.Whole[0], e.Whole[1]
	for i := range e.Contents {
		o.Files[i].Data = e.Contents[i]
	}
	for _, f := range o.Files {
		if !fs.ValidPath(f.Path) || f.Data != nil && int64(len(f.Data)) != f.Size {
			return nil, fmt.Errorf("a worker reports a file %.100q of %d bytes", f.Path, f.Size)
		}
	}
	var shown runners.Displays
	for _, d := range e.Shows {
		if err := shown.Add(d.MIME, d.Data, d.Plain); err != nil {
			return nil, fmt.Errorf("a worker reports a display: %w", err)
		}
	}
	more := o.DisplaysOmitted
	o.Displays, o.DisplaysOmitted = shown.All()
	o.DisplaysOmitted += max(more, 0)
	if o.Error != nil {
		o.Error.Shown = e.Shown
	}
	if o.Continued != nil {
		o.Continued.Exited = e.Exited
	}
	return o, nil
}

// The arguments and results.
type (
	find struct {
		Dir       bool
		Kind, Key string
	}
	library struct {
		Name  string
		Bytes []byte
	}
	compile struct {
		Dir    string
		Memory int64
	}
	snapshot struct {
		Modules   []string
		Installed install.State
	}
	sdist struct {
		Filename string
		Data     []byte
	}
	built struct {
		Name  string
		Wheel []byte
	}
	sources struct {
		Trees, Modules []string
		Workers        int
	}
	compiled struct {
		Module string
		Code   []byte // nil: it begins
	}
	dial struct {
		Network, Name string
		Addr          netip.AddrPort
	}
	ends struct { // of a connection
		Local, Remote netip.AddrPort
	}
	port struct { // a socket that listens
		ID int
		At netip.AddrPort
	}
	datagram struct {
		ID   int
		Addr netip.AddrPort
		Data []byte
	}
	link struct{ From, Name string }
	// leaving is what a program leaves: its own file, and what the server need not ask for.
	leaving struct {
		Own  runners.File
		Told told
	}
	told struct { // by their paths
		Dirs  map[string][]entry
		Files map[string][]byte
	}
	entry struct {
		Name     string
		Mode     fs.FileMode
		Size     int64
		Modified time.Time
	}
	read struct {
		Name   string
		Offset int64
		Length int
	}
)
