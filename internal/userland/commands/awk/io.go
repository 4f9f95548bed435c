package awk

import (
	"bufio"
	"errors"
	"fmt"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/commands/command"
)

// stream is a file or a pipe that the program opened by name.
type stream struct {
	w      *bufio.Writer
	in     *reader
	close  func()
	child  *kernel.Process
	shared bool // standard output or error
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

func (s *streams) add(name string, o *stream) error {
	if len(s.open) >= maxStreams {
		return fmt.Errorf("more than %d files are open", maxStreams)
	}
	s.open[name] = o
	return s.hold(streamCost)
}

// output opens what print writes to.
func (s *streams) output(how, name string) (*bufio.Writer, error) {
	if o := s.open[name]; o != nil && o.w != nil {
		return o.w, nil
	}
	switch name {
	case "":
		return nil, fmt.Errorf("expression for `%s' redirection has null string value", how)
	case "/dev/stdout", "-":
		return s.c.Out, nil
	case "/dev/stderr":
		w := bufio.NewWriterSize(s.c.Process.Stderr(s.c.Ctx), 256)
		return w, s.add(name, &stream{w: w, shared: true, close: func() {}})
	}
	if how == "|" {
		return s.pipeTo(name)
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	if how == ">>" {
		flags = abi.O_WRONLY | abi.O_CREAT | abi.O_APPEND
	}
	f, err := s.c.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot redirect to `%s': %s", name, command.Text(err))
	}
	w := command.NewWriter(f)
	return w, s.add(name, &stream{w: w, close: func() { f.Close() }})
}

func (s *streams) shell(line string, files map[int]*memfs.File) (*kernel.Process, error) {
	s.flush()
	return s.c.Start(command.Child{Args: []string{"sh", "-c", line}, Files: files})
}

func (s *streams) pipeTo(line string) (*bufio.Writer, error) {
	rd, wr, e := s.c.FS.Pipe(0)
	if e != abi.OK {
		return nil, e
	}
	p, err := s.shell(line, map[int]*memfs.File{0: rd})
	rd.Close()
	if err != nil {
		wr.Close()
		return nil, fmt.Errorf("cannot run %s (%s)", line, command.Text(err))
	}
	w := command.NewWriter(s.c.Wrap(wr))
	return w, s.add(line, &stream{w: w, child: p, close: func() { wr.Close() }})
}

func (s *streams) pipeFrom(line string) (*reader, error) {
	if o := s.open[line]; o != nil && o.in != nil {
		return o.in, nil
	}
	rd, wr, e := s.c.FS.Pipe(0)
	if e != abi.OK {
		return nil, e
	}
	p, err := s.shell(line, map[int]*memfs.File{1: wr})
	wr.Close()
	if err != nil {
		rd.Close()
		return nil, fmt.Errorf("cannot run %s (%s)", line, command.Text(err))
	}
	in := s.reader(s.c.Wrap(rd))
	return in, s.add(line, &stream{in: in, child: p, close: func() { rd.Close() }})
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
func (r *run) print(n *node) error {
	if err := r.tick(); err != nil {
		return err
	}
	out := r.c.Out
	values := make([]value, 0, 8)
	for _, e := range n.list {
		v, err := r.eval(e)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	how := n.text
	if n.a != nil {
		name, err := r.eval(n.a)
		if err != nil {
			return err
		}
		if out, err = r.streams.output(how, name.str(r.convfmt)); err != nil {
			return err
		}
	}
	if n.op == "printf" {
		s, err := r.sprintf(values)
		if err != nil {
			return err
		}
		out.WriteString(s)
	} else {
		if len(n.list) == 0 {
			line, err := r.record.line()
			if err != nil {
				return err
			}
			out.WriteString(line)
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
		return out.Flush()
	}
	_, err := out.Write(nil)
	if err != nil && out != r.c.Out {
		return fmt.Errorf("write error: %s", command.Text(err))
	}
	return nil
}

// getline reads a record in one of its forms.
func (r *run) getline(n *node) (value, error) {
	if err := r.tick(); err != nil {
		return value{}, err
	}
	var s string
	var ok bool
	var err error
	switch n.text {
	case "":
		s, ok, err = r.input.read()
	default:
		name, e := r.eval(n.a)
		if e != nil {
			return name, e
		}
		var in *reader
		if n.text == "|" {
			in, err = r.streams.pipeFrom(name.str(r.convfmt))
		} else if in, err = r.streams.fileFrom(name.str(r.convfmt)); err != nil {
			return num(-1), nil
		}
		if err != nil {
			return value{}, err
		}
		if s, ok, err = in.record(r); err == nil && ok && n.text == "|" {
			r.globals[varNR].v = num(r.globals[varNR].v.num() + 1)
		}
	}
	switch {
	case errors.Is(err, command.ErrStopped):
		return value{}, err
	case err != nil:
		return num(-1), nil
	case !ok:
		return num(0), nil
	case n.b != nil:
		return num(1), r.assign(n.b, value{kind: input, s: s})
	}
	return num(1), r.record.set(s)
}

func (s *streams) fileFrom(name string) (*reader, error) {
	if o := s.open[name]; o != nil && o.in != nil {
		return o.in, nil
	}
	f, err := s.c.Open(name)
	if err != nil {
		return nil, err
	}
	in := s.reader(f)
	return in, s.add(name, &stream{in: in, close: func() { f.Close() }})
}
