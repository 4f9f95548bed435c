package commands

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"coderunner/pyodide/abi"
)

// sedFile is the new contents of a file that is edited in place.
type sedFile struct {
	f    *file
	temp string
	name string
	mode uint32
}

// startInPlace sends the output to a new file beside the current one.
func (s *sedEditor) startInPlace() error {
	st, err := s.c.stat(s.name)
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%ssed%06x", s.name[:strings.LastIndexByte(s.name, '/')+1], st.Ino)
	f, err := s.c.create(temp)
	if err != nil {
		return fmt.Errorf("couldn't open temporary file %s: %s", temp, text(err))
	}
	s.inPlace = &sedFile{f, temp, s.name, st.Mode & 0o7777}
	s.out = newWriter(f)
	return nil
}

// finishFile ends the current input, and renames what was written in place.
func (s *sedEditor) finishFile() error {
	if s.in == nil {
		return nil
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
			io.Copy(s.out, s.in.r)
		}
	}
	s.closer.Close()
	s.in = nil
	p := s.inPlace
	if p == nil {
		return nil
	}
	s.inPlace = nil
	err := s.out.Flush()
	p.f.Close()
	s.out = s.c.out
	if err != nil {
		s.c.fs.Unlink(nil, s.c.abs(p.temp))
		return fmt.Errorf("couldn't write to %s: %s", p.name, text(err))
	}
	if n, e := s.c.lookup(p.temp, true); e == abi.OK {
		s.c.fs.Chmod(n, p.mode)
	}
	if suffix := s.o.value("i", ""); suffix != "" {
		backup := p.name + suffix
		if strings.Contains(suffix, "*") {
			at := strings.LastIndexByte(p.name, '/') + 1
			backup = p.name[:at] + strings.ReplaceAll(suffix, "*", p.name[at:])
		}
		if e := s.c.fs.Rename(nil, s.c.abs(p.name), nil, s.c.abs(backup), 0); e != abi.OK {
			return fmt.Errorf("cannot rename %s: %s", p.name, text(e))
		}
	}
	if e := s.c.fs.Rename(nil, s.c.abs(p.temp), nil, s.c.abs(p.name), 0); e != abi.OK {
		return fmt.Errorf("cannot rename %s: %s", p.temp, text(e))
	}
	return nil
}

// isLast reports whether the current line is the last one.
func (s *sedEditor) isLast() bool {
	if !s.hasNext {
		s.looking = true
		s.fill()
		s.looking = false
	}
	return !s.hasNext
}

// output returns the file that w writes to.
func (s *sedEditor) output(name string) (*bufio.Writer, error) {
	if name == "/dev/stdout" {
		return s.c.out, nil
	}
	if w := s.files[name]; w != nil {
		return w, nil
	}
	f, err := s.c.create(name)
	if err != nil {
		return nil, fmt.Errorf("couldn't open file %s: %s", name, text(err))
	}
	s.c.files = append(s.c.files, f)
	s.files[name] = newWriter(f)
	return s.files[name], nil
}
