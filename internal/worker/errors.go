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
	Text     string
	Is       []int // of sentinels
	Errno    syscall.Errno
	Timeout  bool
	NotFound bool    // a name
	Flag     *string // of a refusal by the policy
	Missing  *runners.NotInstalledError
	Tool     *runners.ToolError
	Request  *runners.RequestError
	Build    *resolver.BuildError
}

// sentinels are the errors that are looked for by what they are.
var sentinels = []error{pyodide.ErrBudget, pyodide.ErrNotPrepared, pyodide.ErrUnfit, fs.ErrNotExist, io.EOF}

func encodeError(err error) any {
	f := failure{Text: err.Error()}
	for i, s := range sentinels {
		if errors.Is(err, s) {
			f.Is = append(f.Is, i)
		}
	}
	errors.As(err, &f.Errno)
	var timeout interface{ Timeout() bool }
	f.Timeout = errors.As(err, &timeout) && timeout.Timeout()
	var dns *net.DNSError
	f.NotFound = errors.As(err, &dns) && dns.IsNotFound
	var refused interface{ Flag() string }
	if errors.As(err, &refused) {
		f.Flag = new(refused.Flag())
	}
	_ = errors.As(err, &f.Tool) || errors.As(err, &f.Missing) || errors.As(err, &f.Request) || errors.As(err, &f.Build)
	return f
}

func decodeError(b []byte) error {
	var f failure
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("an error of another process cannot be read: %w", err)
	}
	switch {
	case f.Missing != nil && len(f.Missing.Packages) > 0:
		return f.Missing
	case f.Tool != nil:
		return f.Tool
	case f.Request != nil:
		return f.Request
	case f.Build != nil:
		return f.Build
	case f.Flag != nil:
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
	for _, i := range e.f.Is {
		if i >= 0 && i < len(sentinels) {
			list = append(list, sentinels[i])
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
func (e refusal) Flag() string  { return *e.f.Flag }
