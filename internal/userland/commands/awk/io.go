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

// maxStreams bounds the files and pipes that a program has open.
const maxStreams = 500

func (r *run) add(name string, s *stream) error {
	if len(r.streams) >= maxStreams {
		return fmt.Errorf("more than %d files are open", maxStreams)
	}
	r.streams[name] = s
	return nil
}

// output opens what print writes to.
func (r *run) output(how, name string) (*bufio.Writer, error) {
	if s := r.streams[name]; s != nil && s.w != nil {
		return s.w, nil
	}
	switch name {
	case "":
		return nil, fmt.Errorf("expression for `%s' redirection has null string value", how)
	case "/dev/stdout", "-":
		return r.c.Out, nil
	case "/dev/stderr":
		w := bufio.NewWriterSize(r.c.Process.Stderr(r.c.Ctx), 256)
		return w, r.add(name, &stream{w: w, shared: true, close: func() {}})
	}
	if how == "|" {
		return r.pipeTo(name)
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	if how == ">>" {
		flags = abi.O_WRONLY | abi.O_CREAT | abi.O_APPEND
	}
	f, err := r.c.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot redirect to `%s': %s", name, command.Text(err))
	}
	w := command.NewWriter(f)
	return w, r.add(name, &stream{w: w, close: func() { f.Close() }})
}

func (r *run) shell(line string, files map[int]*memfs.File) (*kernel.Process, error) {
	r.flush()
	return r.c.Start(command.Child{Args: []string{"sh", "-c", line}, Files: files})
}

func (r *run) pipeTo(line string) (*bufio.Writer, error) {
	rd, wr, e := r.c.FS.Pipe(0)
	if e != abi.OK {
		return nil, e
	}
	p, err := r.shell(line, map[int]*memfs.File{0: rd})
	rd.Close()
	if err != nil {
		wr.Close()
		return nil, fmt.Errorf("cannot run %s (%s)", line, command.Text(err))
	}
	w := command.NewWriter(r.c.Wrap(wr))
	return w, r.add(line, &stream{w: w, child: p, close: func() { wr.Close() }})
}

func (r *run) pipeFrom(line string) (*reader, error) {
	if s := r.streams[line]; s != nil && s.in != nil {
		return s.in, nil
	}
	rd, wr, e := r.c.FS.Pipe(0)
	if e != abi.OK {
		return nil, e
	}
	p, err := r.shell(line, map[int]*memfs.File{1: wr})
	wr.Close()
	if err != nil {
		rd.Close()
		return nil, fmt.Errorf("cannot run %s (%s)", line, command.Text(err))
	}
	in := r.reader(r.c.Wrap(rd))
	return in, r.add(line, &stream{in: in, child: p, close: func() { rd.Close() }})
}

// flush writes out all buffers.
func (r *run) flush() {
	r.c.Out.Flush()
	for _, s := range r.streams {
		if s.w != nil {
			s.w.Flush()
		}
	}
}

// closeStream closes a file or pipe and returns its status.
func (r *run) closeStream(name string) int {
	s := r.streams[name]
	if s == nil {
		return -1
	}
	delete(r.streams, name)
	if s.w != nil {
		s.w.Flush()
	}
	s.close()
	if s.child != nil {
		if status, ok := r.c.Wait(r.c.Ctx, s.child); ok {
			return status.Code()
		}
	}
	return 0
}

func (r *run) closeAll() {
	r.c.Out.Flush()
	for name := range r.streams {
		r.closeStream(name)
	}
	r.input.skip()
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
		if out, err = r.output(how, name.str(r.convfmt)); err != nil {
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
			out.WriteString(r.line())
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
			in, err = r.pipeFrom(name.str(r.convfmt))
		} else if in, err = r.fileFrom(name.str(r.convfmt)); err != nil {
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
	r.setRecord(s)
	return num(1), nil
}

func (r *run) fileFrom(name string) (*reader, error) {
	if s := r.streams[name]; s != nil && s.in != nil {
		return s.in, nil
	}
	f, err := r.c.Open(name)
	if err != nil {
		return nil, err
	}
	in := r.reader(f)
	return in, r.add(name, &stream{in: in, close: func() { f.Close() }})
}
