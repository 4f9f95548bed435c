package awk

import (
	"bufio"
	"errors"
	"io"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands/command"
)

// stream is a file or a pipe that the program opened by name.
type stream struct {
	w     *bufio.Writer
	in    *reader
	close func()
	child *kernel.Process
}

// streamCost is what an open stream takes.
const streamCost = command.CopySize

// streams are the files and pipes that the program has open.
type streams struct {
	*memory
	open map[string]*stream
}

// maxStreams bounds the files and pipes that a program has open.
const maxStreams = 500

func (s *streams) add(name string, o *stream) {
	if len(s.open) >= maxStreams {
		s.c.Throw("more than %d files are open", maxStreams)
	}
	s.open[name] = o
	s.hold(streamCost)
}

// output opens what print writes to.
func (s *streams) output(how, name string) *bufio.Writer {
	if o := s.open[name]; o != nil && o.w != nil {
		return o.w
	}
	o := &stream{}
	switch {
	case name == "":
		s.c.Throw("expression for `%s' redirection has null string value", how)
	case name == "/dev/stdout" || name == "-":
		return s.c.Out
	case name == "/dev/stderr":
		o.w, o.close = bufio.NewWriterSize(s.c.Process.Stderr(s.c.Ctx), 256), func() {}
	case how == "|":
		var f *command.File
		f, o.child = s.pipe(name, 0)
		o.w, o.close = command.NewWriter(f), func() { f.Close() }
	default:
		f, err := s.c.CreateOr(name, how == ">>")
		if err != nil {
			s.c.Throw("cannot redirect to `%s': %s", name, command.Text(err))
		}
		o.w, o.close = command.NewWriter(f), func() { f.Close() }
	}
	s.add(name, o)
	return o.w
}

func (s *streams) shell(line string, files map[int]*memfs.File) (*kernel.Process, error) {
	s.flush()
	return s.c.Start(command.Child{Args: []string{"sh", "-c", line}, Files: files})
}

// pipe starts a command whose standard input (0) or output (1) is a pipe, and returns
// the other end of it.
func (s *streams) pipe(line string, fd int) (*command.File, *kernel.Process) {
	rd, wr, e := s.c.FS.Pipe(0)
	s.c.Check(e.Err())
	theirs, ours := rd, wr
	if fd == 1 {
		theirs, ours = wr, rd
	}
	p, err := s.shell(line, map[int]*memfs.File{fd: theirs})
	theirs.Close()
	if err != nil {
		ours.Close()
		s.c.Throw("cannot run %s (%s)", line, command.Text(err))
	}
	return s.c.Wrap(ours), p
}

// from opens what getline reads: a file, or with the operator | the output of a command.
func (s *streams) from(how, name string) (*reader, error) {
	if o := s.open[name]; o != nil && o.in != nil {
		return o.in, nil
	}
	o := &stream{}
	var f io.ReadCloser
	var err error
	if how == "|" {
		f, o.child = s.pipe(name, 1)
	} else if f, err = s.c.Open(name); err != nil {
		return nil, err
	}
	o.in, o.close = s.reader(f), func() { f.Close() }
	s.add(name, o)
	return o.in, nil
}

// flush writes out all buffers.
func (s *streams) flush() {
	s.c.Out.Flush()
	for _, o := range s.open {
		if o.w != nil {
			o.w.Flush()
		}
	}
}

// closeStream closes a file or pipe and returns its status.
func (s *streams) close(name string) int {
	o := s.open[name]
	if o == nil {
		return -1
	}
	delete(s.open, name)
	if o.w != nil {
		o.w.Flush()
	}
	o.close()
	s.hold(-streamCost)
	if o.child != nil {
		if status, ok := s.c.Wait(s.c.Ctx, o.child); ok {
			return status.Code()
		}
	}
	return 0
}

func (s *streams) closeAll() {
	s.c.Out.Flush()
	for name := range s.open {
		s.close(name)
	}
}

// print is print and printf.
func (r *run) print(n *node) {
	r.tick()
	out := r.c.Out
	values := r.values(n.list)
	if n.a != nil {
		out = r.streams.output(n.text, r.eval(n.a).str(r.convfmt))
	}
	if n.op == "printf" {
		out.WriteString(r.sprintf(values))
	} else {
		if len(n.list) == 0 {
			out.WriteString(r.record.line())
		}
		for i, v := range values {
			if i > 0 {
				out.WriteString(r.ofs)
			}
			out.WriteString(v.str(r.globals[varOFMT].v.s))
		}
		out.WriteString(r.globals[varORS].v.str(r.convfmt))
	}
	if n.a != nil && out.Buffered() > 0 && out.Size() == 256 { // standard error
		r.c.Check(out.Flush())
		return
	}
	if _, err := out.Write(nil); err != nil && out != r.c.Out {
		r.c.Throw("write error: %s", command.Text(err))
	}
}

// values evaluates expressions.
func (r *run) values(list []*node) []value {
	values := make([]value, 0, 8)
	for _, e := range list {
		values = append(values, r.eval(e))
	}
	return values
}

// getline reads a record in one of its forms.
func (r *run) getline(n *node) value {
	r.tick()
	var s string
	var ok bool
	var err error
	if n.text == "" {
		s, ok, err = r.input.read()
	} else {
		var in *reader
		if in, err = r.streams.from(n.text, r.eval(n.a).str(r.convfmt)); err == nil {
			s, ok, err = in.record(r)
		}
		if err == nil && ok && n.text == "|" {
			r.globals[varNR].v = num(r.globals[varNR].v.num() + 1)
		}
	}
	switch {
	case errors.Is(err, command.ErrStopped):
		r.c.Check(err)
	case err != nil:
		return num(-1)
	case !ok:
		return num(0)
	case n.b != nil:
		r.assign(n.b, value{kind: input, s: s})
	default:
		r.record.set(s)
	}
	return num(1)
}
