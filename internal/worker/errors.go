package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"

	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/resolver"
)

// failure is an error as plain data: what those who get it look for.
type failure struct {
	Text      string
	Errno     syscall.Errno
	Timeout   bool
	NotFound  bool // a name
	Refused   bool
	Flag      string
	Missing   []runners.PackageError `json:",omitempty"`
	Tool      *runners.ToolError     `json:",omitempty"`
	Argument  string
	Cancelled bool
	Budget    bool // pyodide.ErrBudget
	Lacks     bool // pyodide.ErrNotPrepared
	NotExist  bool // fs.ErrNotExist
	EOF       bool
	Unfit     bool   // pyodide.ErrUnfit
	Build     string // the reason of a resolver.BuildError
}

func encodeError(err error) any {
	f := failure{Text: err.Error(), Budget: errors.Is(err, pyodide.ErrBudget), Lacks: errors.Is(err, pyodide.ErrNotPrepared),
		NotExist: errors.Is(err, fs.ErrNotExist), EOF: errors.Is(err, io.EOF), Unfit: errors.Is(err, pyodide.ErrUnfit)}
	errors.As(err, &f.Errno)
	var timeout interface{ Timeout() bool }
	f.Timeout = errors.As(err, &timeout) && timeout.Timeout()
	var dns *net.DNSError
	f.NotFound = errors.As(err, &dns) && dns.IsNotFound
	var flag interface{ Flag() string }
	if f.Refused = errors.As(err, &flag); f.Refused {
		f.Flag = flag.Flag()
	}
	f.Tool, _ = errors.AsType[*runners.ToolError](err)
	if m, ok := errors.AsType[*runners.NotInstalledError](err); ok {
		f.Missing = m.Packages
	}
	if r, ok := errors.AsType[*runners.RequestError](err); ok {
		f.Argument, f.Text = r.Argument, r.Message
	}
	if b, ok := errors.AsType[*resolver.BuildError](err); ok {
		f.Build = b.Reason
	}
	return f
}

func decodeError(b []byte) error {
	var f failure
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("an error of another process cannot be read: %w", err)
	}
	switch {
	case len(f.Missing) > 0:
		return &runners.NotInstalledError{Packages: f.Missing}
	case f.Tool != nil:
		return f.Tool
	case f.Argument != "":
		return &runners.RequestError{Argument: f.Argument, Message: f.Text}
	case f.Build != "":
		return &resolver.BuildError{Reason: f.Build}
	case f.Refused:
		return refusal{f}
	}
	return remoteError{f}
}

// remoteError is an error of the other process.
type remoteError struct{ f failure }

func (e remoteError) Error() string   { return e.f.Text }
func (e remoteError) Timeout() bool   { return e.f.Timeout }
func (e remoteError) Temporary() bool { return false }

func (e remoteError) Unwrap() (list []error) {
	for err, is := range map[error]bool{
		pyodide.ErrBudget: e.f.Budget, pyodide.ErrNotPrepared: e.f.Lacks, fs.ErrNotExist: e.f.NotExist, io.EOF: e.f.EOF, pyodide.ErrUnfit: e.f.Unfit,
	} {
		if is {
			list = append(list, err)
		}
	}
	if e.f.Errno != 0 {
		list = append(list, e.f.Errno)
	}
	if e.f.NotFound {
		list = append(list, &net.DNSError{Err: e.f.Text, IsNotFound: true})
	}
	return list
}

// refusal is one of the policy, which names a flag.
type refusal struct{ f failure }

func (e refusal) Error() string { return e.f.Text }
func (e refusal) Flag() string  { return e.f.Flag }
