package deno

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// report is what the bootstrap wrote about the end of a program, in records of
// a letter and fields, each after its length in four bytes.
//
// The program can write there, too: it shares the realm. So a report decides
// nothing but what the program could decide anyway, by returning, throwing or
// exiting, and its sizes are bounded before anything is allocated.
type report struct {
	result *value
	thrown *thrown // by an uncaught error; the last one
	exit   *int    // the exit code: nothing more will happen
	broken error   // it is not what the bootstrap writes
}

// value is that of the last expression.
type value struct {
	text, json string
	isError    bool
}

// thrown is an error that ended the program.
type thrown struct {
	kind, message, stack, code string

	escaped bool // the import of the program rejected with it; else a listener saw it
	load    bool // the program says that it could not be loaded
}

// Bounds of the fields, in bytes: bootstrap.js counts UTF-16 units, and adds an
// ellipsis.
const (
	maxShort = 3*200 + 3
	maxLong  = 3*20000 + 3
	// maxReport bounds all of a report. A program may have many errors that its
	// own listeners handle.
	maxReport = 64 << 20
)

var errReport = errors.New("it is not what the runner wrote")

// readReport reads a report. It reads to the end of r, so that nobody waits for
// a full pipe. Room is how many characters a result has at most. Over is called,
// at most once, when the program has come to its end; nil: it is not told.
func readReport(r io.Reader, room int64, over func()) report {
	var rep report
	rd := &reportReader{r: io.LimitReader(r, maxReport), room: 3*room + 3}
	for rep.exit == nil && rep.broken == nil {
		more, err := rd.record(&rep)
		if err != nil {
			rep.broken = err
		}
		if !more {
			break
		}
	}
	if rep.exit != nil {
		if over != nil {
			over()
		} else {
			rep.exit = nil // nobody was asked to say it
		}
	}
	_, _ = io.Copy(io.Discard, r)
	return rep
}

// reportReader reads records.
type reportReader struct {
	r    io.Reader
	room int64
}

// record reads one record. It reports whether there may be another one. A
// process that was killed may leave half of one, which is no error.
func (d *reportReader) record(rep *report) (more bool, err error) {
	var kind [1]byte
	if _, err := io.ReadFull(d.r, kind[:]); err != nil {
		return false, nil
	}
	var fields []string
	switch kind[0] {
	case 'r':
		fields, err = d.fields(d.room, d.room, 1)
	case 'e', 't':
		fields, err = d.fields(maxShort, maxLong, maxLong, maxShort, 1)
	case 'x':
		fields, err = d.fields(maxShort)
	default:
		err = fmt.Errorf("%w: a record of kind %q", errReport, kind[0])
	}
	if fields == nil {
		return false, err
	}
	switch kind[0] {
	case 'r':
		rep.result = &value{text: fields[0], json: fields[1], isError: fields[2] != ""}
	case 'x':
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			return false, fmt.Errorf("%w: an exit code that is not a number", errReport)
		}
		n &= 0xff // as the system has it
		rep.exit = &n
	default:
		rep.thrown = &thrown{kind: fields[0], message: fields[1], stack: fields[2], code: fields[3], load: fields[4] != "", escaped: kind[0] == 't'}
	}
	return true, nil
}

// fields reads fields of at most so many bytes each. It returns nil if one is
// longer, or if the report ends before.
func (d *reportReader) fields(limits ...int64) ([]string, error) {
	fields := make([]string, len(limits))
	for i, limit := range limits {
		var length [4]byte
		if _, err := io.ReadFull(d.r, length[:]); err != nil {
			return nil, nil
		}
		n := int64(binary.LittleEndian.Uint32(length[:]))
		if n > limit {
			return nil, fmt.Errorf("%w: a field of %d bytes, where %d are the most", errReport, n, limit)
		}
		var b strings.Builder // grows with what comes, not with what is claimed
		if _, err := io.CopyN(&b, d.r, n); err != nil {
			return nil, nil
		}
		fields[i] = b.String()
	}
	return fields, nil
}

// readReportFile reads a report where it is not a pipe.
func readReportFile(name string, room int64) report {
	f, err := os.Open(name)
	if err != nil {
		return report{} // the process did not come so far
	}
	defer f.Close()
	return readReport(f, room, nil)
}
