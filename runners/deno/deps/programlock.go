package deps

import (
	"errors"
	"fmt"
	"strings"
)

// A program's lock is Deno's lock file, in comments at the program's end:
//
//	// /// deno.lock
//	// {
//	//   "version": "5",
//	…
//	// }
//	// ///
const (
	lockBegin = "// /// deno.lock"
	lockEnd   = "// ///"
)

// ErrLock is wrapped by errors about a program's lock.
var ErrLock = errors.New("bad lock")

// CutLock returns a program without its lock, and the lock, nil if there is none.
func CutLock(code string) (text string, lock []byte, err error) {
	var rest, found strings.Builder
	inside, seen := false, false
	for line := range strings.Lines(code) {
		bare := strings.TrimRight(line, " \t\r\n")
		switch {
		case inside && bare == lockEnd:
			inside = false
		case inside:
			content, ok := strings.CutPrefix(bare, "//")
			if !ok {
				return "", nil, fmt.Errorf("%w: a line of it is not a comment: %q", ErrLock, Shorten(bare, 80))
			}
			found.WriteString(strings.TrimPrefix(content, " ") + "\n")
		case bare == lockBegin && seen:
			return "", nil, fmt.Errorf("%w: there are two", ErrLock)
		case bare == lockBegin:
			inside, seen = true, true
		default:
			rest.WriteString(line)
		}
	}
	switch {
	case inside:
		return "", nil, fmt.Errorf("%w: it has no end (%s)", ErrLock, lockEnd)
	case !seen:
		return code, nil, nil
	case found.Len() > maxLock:
		return "", nil, fmt.Errorf("%w: it is larger than %d bytes", ErrLock, maxLock)
	}
	return rest.String(), []byte(found.String()), nil
}

// WithLock returns a program without a lock with one appended.
func WithLock(code string, lock []byte) string {
	var b strings.Builder
	b.WriteString(code)
	if code != "" && !strings.HasSuffix(code, "\n") {
		b.WriteString("\n")
	}
	b.WriteString(lockBegin + "\n")
	for line := range strings.Lines(strings.TrimSpace(string(lock))) {
		b.WriteString(strings.TrimRight("// "+line, " \r\n") + "\n")
	}
	b.WriteString(lockEnd + "\n")
	return b.String()
}
