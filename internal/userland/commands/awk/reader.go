package awk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// reader reads records.
type reader struct {
	l    *command.Lines
	rest []byte // read ahead for an RS that is an expression
	eof  bool
}

func (r *memory) reader(in io.Reader) *reader { return &reader{l: r.c.Lines(in, '\n')} }

// record reads a record as RS says.
func (a *reader) record(r *run) (string, bool, error) {
	if len(r.rs) == 1 && len(a.rest) == 0 {
		a.l.Delim = r.rs[0]
		line, ok := a.l.Next()
		if !ok && a.l.Err != nil {
			return "", false, a.l.Err
		}
		return string(line), ok, nil
	}
	if r.rs == "" && len(a.rest) == 0 {
		return a.paragraph()
	}
	var re regex.Pattern
	switch {
	case r.rs == "":
		re = r.regex("\n\n+")
	case len(r.rs) == 1:
		re = regex.Fixed(r.rs)
	default:
		re = r.regex(r.rs)
	}
	for {
		if found := re.FindAllSubmatchIndex(a.rest, 1); found != nil && found[0][1] > found[0][0] && (found[0][1] < len(a.rest) || a.eof) {
			m := found[0]
			record := string(a.rest[:m[0]])
			r.globals[varRT].v = str(string(a.rest[m[0]:m[1]]))
			a.rest = a.rest[m[1]:]
			return record, true, nil
		}
		if a.eof {
			record := a.rest
			if r.rs == "" {
				record = bytes.TrimSuffix(record, []byte("\n"))
			}
			a.rest = nil
			r.globals[varRT].v = str("")
			return string(record), len(record) > 0, nil
		}
		buf := make([]byte, command.CopySize)
		n, err := a.l.R.Read(buf)
		if len(a.rest) > 1<<20 {
			r.c.Check(r.c.Room(2 * len(a.rest)))
		}
		a.rest = append(a.rest[:len(a.rest):len(a.rest)], buf[:n]...)
		if a.eof = err == io.EOF; err != nil && !a.eof {
			return "", false, err
		}
	}
}

// paragraph reads lines up to an empty one.
func (a *reader) paragraph() (string, bool, error) {
	a.l.Delim = '\n'
	var b strings.Builder
	some := false
	for {
		line, ok := a.l.Next()
		switch {
		case !ok && a.l.Err != nil:
			return "", false, a.l.Err
		case !ok:
			return b.String(), some, nil
		case len(line) == 0 && some:
			return b.String(), true, nil
		case len(line) == 0:
			continue
		}
		if some {
			b.WriteByte('\n')
		}
		some = true
		b.Write(line)
	}
}

// inputs are the operands: files and assignments.
type inputs struct {
	r      *run
	next   int // of ARGV
	cur    *reader
	closer io.Closer
	any    bool
	done   bool
}

// read reads the next record of the files.
func (in *inputs) read() (string, bool, error) {
	r := in.r
	for !in.done {
		if in.cur == nil {
			if err := in.open(); err != nil {
				return "", false, err
			}
			continue
		}
		s, ok, err := in.cur.record(r)
		if err != nil && errors.Is(err, abi.EISDIR) {
			ok, err = false, nil
		}
		if ok || err != nil {
			r.globals[varNR].v = num(r.globals[varNR].v.num() + 1)
			r.globals[varFNR].v = num(r.globals[varFNR].v.num() + 1)
			return s, ok, err
		}
		in.end()
	}
	return "", false, nil
}

// end ends the current file, after the rules ENDFILE.
func (in *inputs) end() {
	if in.cur != nil {
		in.leave(in.r.blocks("ENDFILE"))
		in.skip()
	}
}

// leave has the program go where a rule for files sends it.
func (in *inputs) leave(to flow) {
	if to != onward {
		in.r.c.Check(left{to})
	}
}

// skip ends the current file.
func (in *inputs) skip() {
	if in.cur != nil {
		in.closer.Close()
		in.cur = nil
	}
}

// open opens the next file of ARGV, standard input if there is none.
func (in *inputs) open() error {
	r := in.r
	argv := r.globals[varARGV].arr()
	for in.next < int(r.globals[varARGC].v.num()) {
		e := argv.m[fmt.Sprint(in.next)]
		in.next++
		if e == nil || e.v.str("") == "" {
			continue
		}
		name := e.v.str(r.convfmt)
		if r.assignment(name) {
			continue
		}
		in.any = true
		f, err := r.c.Open(name)
		switch {
		case errors.Is(err, abi.EISDIR):
			r.c.Errorf("warning: command line argument `%s' is a directory: skipped", name)
			continue
		case err != nil:
			if r.prog.blocks["BEGINFILE"] == nil {
				return &missingFile{name, command.Text(err)}
			}
			f = io.NopCloser(strings.NewReader(""))
		}
		return in.start(name, f, err)
	}
	if in.any {
		in.done = true
		return nil
	}
	in.any = true
	return in.start("", io.NopCloser(r.c.In()), nil)
}

// start begins a file. The rules BEGINFILE learn from ERRNO what keeps it from being read.
func (in *inputs) start(name string, f io.ReadCloser, failed error) error {
	r := in.r
	in.cur, in.closer = r.reader(f), f
	r.globals[varFILENAME].v = str(name)
	r.globals[varFNR].v = num(0)
	if r.prog.blocks["BEGINFILE"] == nil {
		return nil
	}
	r.globals[varERRNO].v = str("")
	if failed != nil {
		r.globals[varERRNO].v = str(command.Text(failed))
	}
	switch went := r.blocks("BEGINFILE"); {
	case went == nextFile:
		in.skip()
	case went == onward && failed != nil:
		return &missingFile{name, command.Text(failed)}
	default:
		in.leave(went)
	}
	return nil
}

// missingFile is an operand that cannot be read.
type missingFile struct{ name, why string }

func (e *missingFile) Error() string {
	return fmt.Sprintf("cannot open file `%s' for reading: %s", e.name, e.why)
}
