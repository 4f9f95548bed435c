package sed

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// inPlaceFile is the new contents of a file that is edited in place.
type inPlaceFile struct {
	f    *command.File
	temp string
	name string
	mode uint32
}

// startInPlace sends the output to a new file beside the current one.
func (s *editor) startInPlace() {
	st, err := s.c.Stat(s.name)
	s.c.Check(err)
	temp := fmt.Sprintf("%ssed%06x", s.name[:strings.LastIndexByte(s.name, '/')+1], st.Ino)
	f, err := s.c.Create(temp)
	if err != nil {
		s.c.Throw("couldn't open temporary file %s: %s", temp, command.Text(err))
	}
	s.inPlace = &inPlaceFile{f, temp, s.name, st.Mode & 0o7777}
	s.out, s.unended = command.NewWriter(f), false
}

// finishFile ends the current input, and renames what was written in place.
func (s *editor) finishFile() {
	if s.in == nil {
		return
	}
	if s.inPlace != nil {
		// What q left unread stays.
		if s.hasNext {
			s.out.Write(s.next)
			if s.nextWhole {
				s.out.WriteByte(s.end)
			}
			s.hasNext = false
		}
		if s.quit {
			io.Copy(s.out, s.in.R)
		}
	}
	s.closer.Close()
	s.in = nil
	p := s.inPlace
	if p == nil {
		return
	}
	s.inPlace = nil
	err := s.out.Flush()
	p.f.Close()
	s.out, s.unended = s.c.Out, false
	if err != nil {
		s.c.FS.Unlink(nil, s.c.Abs(p.temp))
		s.c.Throw("couldn't write to %s: %s", p.name, command.Text(err))
	}
	if n, e := s.c.Lookup(p.temp, true); e == abi.OK {
		s.c.FS.Chmod(n, p.mode)
	}
	if suffix := s.o.Value("i", ""); suffix != "" {
		backup := p.name + suffix
		if strings.Contains(suffix, "*") {
			at := strings.LastIndexByte(p.name, '/') + 1
			backup = p.name[:at] + strings.ReplaceAll(suffix, "*", p.name[at:])
		}
		s.rename(p.name, backup)
	}
	s.rename(p.temp, p.name)
}

func (s *editor) rename(from, to string) {
	if e := s.c.FS.Rename(nil, s.c.Abs(from), nil, s.c.Abs(to), 0); e != abi.OK {
		s.c.Throw("cannot rename %s: %s", from, command.Text(e))
	}
}

// isLast reports whether the current line is the last one.
func (s *editor) isLast() bool {
	if !s.hasNext {
		s.looking = true
		s.fill()
		s.looking = false
	}
	return !s.hasNext
}

// output returns the file that w writes to.
func (s *editor) output(name string) *bufio.Writer {
	if name == "/dev/stdout" {
		return s.c.Out
	}
	if w := s.files[name]; w != nil {
		return w
	}
	f, err := s.c.Create(name)
	s.c.Need(err, 1, "couldn't open file %s", name)
	s.c.Files = append(s.c.Files, f)
	s.files[name] = command.NewWriter(f)
	return s.files[name]
}
