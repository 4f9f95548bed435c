package runners

import (
	"fmt"
	"time"
)

// Limits bound one run. Zero values mean the defaults.
type Limits struct {
	Timeout time.Duration // of the run; the preparation has a limit of its own
	Memory  int64         // bytes
	Output  int64         // bytes kept of each stream

	MaxTimeout time.Duration // the longest Timeout that a caller may ask for
}

// The default limits.
const (
	DefaultTimeout = 30 * time.Second
	DefaultMemory  = 512 << 20
	DefaultOutput  = 50_000
)

// The least and the most that a limit may be.
const (
	MinTimeout = time.Millisecond
	MaxTimeout = time.Hour
	MinMemory  = 64 << 20
	MaxMemory  = 64 << 30
	MinOutput  = 1000
	MaxOutput  = 16 << 20
)

// WithDefaults replaces zero limits by the defaults.
func (l Limits) WithDefaults() Limits {
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	if l.MaxTimeout <= 0 || l.MaxTimeout > MaxTimeout {
		l.MaxTimeout = MaxTimeout
	}
	l.Timeout = min(l.Timeout, l.MaxTimeout)
	return l
}

// Exceeded returns the error of a program that was ended with a status, which is
// TimedOut, OutOfMemory, OutputLimit or Cancelled.
func (l Limits) Exceeded(s Status) *Error {
	switch s {
	case TimedOut:
		return &Error{Type: "Timeout", Message: fmt.Sprintf("the program ran longer than its limit of %v", l.Timeout)}
	case OutOfMemory:
		return &Error{Type: "OutOfMemory", Message: fmt.Sprintf("the program needed more than its limit of %d MiB of memory", l.Memory>>20)}
	case OutputLimit:
		return &Error{Type: "OutputLimit", Message: fmt.Sprintf("the program printed more than %d bytes", l.Output*FloodFactor)}
	}
	return &Error{Type: "Cancelled", Message: "the run was cancelled"}
}
