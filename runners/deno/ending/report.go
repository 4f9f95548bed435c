package ending

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"coderunner/runners"
)

// Report is the bootstrap's report of the end of a program. A record is a letter
// and fields, each after its length in four bytes, little-endian.
//
// The program shares the realm and can write reports, too. So a report decides
// only what the program could decide anyway by returning, throwing or exiting,
// and sizes are bounded before anything is allocated.
type Report struct {
	result  *value
	thrown  *thrown            // by an uncaught error; the last one
	exit    *int               // the exit code, if the program is over
	names   []runners.Variable // of a session, at most runners.MaxVariables
	more    int                // names that are left out
	shown   *runners.Displays
	served  bool     // it listened where only it reaches itself
	lonely  bool     // it still does, and has not called its servers
	Refused []string // destinations, HOST or HOST:PORT, that Deno refused
	silent  bool     // a prompt() of its found no line
	asks    bool     // a question of its waits for a line that stdin does not have
	broken  error    // the bootstrap did not write it
}

// value is that of the last expression.
type value struct {
	text, json string
	isError    bool
}

// thrown is an error that ended the program.
type thrown struct {
	kind, message, stack, code string

	escaped bool // the program's import rejected with it; else a listener got it
	load    bool // claimed: the program could not be loaded
}

// Bounds of the fields, in bytes. bootstrap.js counts UTF-16 units and adds an
// ellipsis.
const (
	maxShort = 3*200 + 3
	maxLong  = 3*20000 + 3
	maxShown = 3 * 11 << 20
	maxQuery = 5 << 20
	// maxRefused bounds Report.Refused.
	maxRefused = 20
	// maxReport bounds all of a report. A program may have many errors that its
	// own listeners handle.
	maxReport = 64 << 20
)

var errReport = errors.New("it is not what the runner wrote")

// ReadReport reads a report. It reads r to its end, so that no writer blocks on a
// full pipe. Room bounds the result, in characters. Over, if not nil, is called at
// most once, when the program is over. The end of a session's program has the nonce
// of its orders, so that an earlier program cannot have prepared it. Query gets what the program
// asks of its tools, with numbers of its own.
func ReadReport(r io.Reader, room int64, nonce string, over func(), query func(number, text string)) Report {
	var rep Report
	limited := &io.LimitedReader{R: r, N: maxReport}
	rd := &reportReader{r: bufio.NewReader(limited), room: 3*room + 3, nonce: nonce, query: func(number, text string) {
		limited.N += int64(len(text)) // bounded by who takes it
		if query != nil {
			query(number, text)
		}
	}}
	for rep.exit == nil && rep.broken == nil {
		more, err := rd.record(&rep)
		if err != nil {
			rep.broken = err
		}
		if !more {
			break
		}
	}
	if rep.exit != nil || rep.broken != nil && nonce != "" {
		if over != nil {
			over()
		} else {
			rep.exit = nil // the bootstrap was not asked for it
		}
	}
	_, _ = io.Copy(io.Discard, r)
	return rep
}

// reportReader reads records.
type reportReader struct {
	r     io.Reader
	room  int64
	nonce string
	query func(number, text string)
}

// record reads one record and reports whether another may follow. A killed
// process may leave half a record, which is not an error.
func (d *reportReader) record(rep *Report) (more bool, err error) {
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
		if fields, err = d.fields(maxShort); fields != nil && d.nonce != "" {
			var of []string
			if of, err = d.fields(maxShort); of == nil || of[0] != d.nonce {
				return of != nil, err
			}
		}
	case 'n':
		fields, err = d.fields(maxShort)
	case 's', 'q':
		fields, err = d.fields(1)
	case 'v':
		fields, err = d.fields(maxShort, maxShort)
	case 'd':
		fields, err = d.fields(maxShort, maxShown, maxLong)
	case 'c':
		if fields, err = d.fields(maxShort, maxQuery); fields != nil {
			d.query(fields[0], fields[1])
			return true, nil
		}
	default:
		err = fmt.Errorf("%w: a record of kind %q", errReport, kind[0])
	}
	if fields == nil {
		return false, err
	}
	if err := rep.add(kind[0], fields); err != nil {
		return false, err
	}
	return true, nil
}

// add adds a record to the report.
func (rep *Report) add(kind byte, fields []string) error {
	switch kind {
	case 'r':
		rep.result = &value{text: fields[0], json: fields[1], isError: fields[2] != ""}
	case 'd':
		if rep.shown == nil {
			rep.shown = new(runners.Displays)
		}
		if rep.shown.Add(fields[0], fields[1], fields[2]) != nil {
			_ = rep.shown.Add("", "", "") // counted
		}
	case 's':
		rep.served, rep.lonely = true, fields[0] != ""
	case 'n':
		if len(rep.Refused) < maxRefused {
			rep.Refused = append(rep.Refused, strings.ToValidUTF8(fields[0], ""))
		}
	case 'q':
		rep.silent, rep.asks = rep.silent || fields[0] == "0", rep.asks || fields[0] != "0"
	case 'v':
		rep.variable(fields[0], fields[1])
	case 'x':
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			return fmt.Errorf("%w: an exit code that is not a number", errReport)
		}
		n &= 0xff // as the system has it
		rep.exit = &n
	default:
		rep.thrown = &thrown{kind: fields[0], message: fields[1], stack: fields[2], code: fields[3], load: fields[4] != "", escaped: kind == 't'}
	}
	return nil
}

// variable adds a variable of a session, or a number of others.
func (rep *Report) variable(name, kind string) {
	switch n, err := strconv.Atoi(kind); {
	case name == "" && err == nil:
		rep.more = min(max(n, 0), 1e6)
	case len(rep.names) < runners.MaxVariables:
		clip := func(s string) string { return runners.Clip(strings.ToValidUTF8(s, ""), runners.MaxVariableText) }
		rep.names = append(rep.names, runners.Variable{Name: clip(name), Type: clip(kind)})
	}
}

// fields reads one field per limit, in bytes. It returns nil if a field is longer
// or the report ends first.
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
		var b strings.Builder // grows with what is read, not with the claimed size
		if _, err := io.CopyN(&b, d.r, n); err != nil {
			return nil, nil
		}
		fields[i] = b.String()
	}
	return fields, nil
}

// ReadReportFile reads a report from a file, where there are no named pipes.
func ReadReportFile(name string, room int64) Report {
	f, err := os.Open(name)
	if err != nil {
		return Report{} // the process ended before it opened the report
	}
	defer f.Close()
	return ReadReport(f, room, "", nil, nil)
}

// Over reports whether the program said that it was over.
func (rep *Report) Over() bool { return rep.exit != nil }

// Variables returns the variables of a session, at most runners.MaxVariables, and how many
// more there are.
func (rep *Report) Variables() (list []runners.Variable, more int) { return rep.names, rep.more }

// Names returns the names of the variables, and how many more there are.
func (rep *Report) Names() (names []string) {
	for _, v := range rep.names {
		names = append(names, v.Name)
	}
	if rep.more > 0 {
		names = append(names, strconv.Itoa(rep.more))
	}
	return names
}
