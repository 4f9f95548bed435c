//go:build unix

package wire

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// maxFiles bounds the files that have arrived and belong to no frame yet.
const maxFiles = 16

// socket reads and writes bytes and open files.
type socket struct {
	c          *net.UnixConn
	takesFiles bool
	buf        []byte // read and not used yet
	store      [16 << 10]byte
	files      []*os.File
}

// Pair returns two connected sockets: ours, and the file of the other process's.
func Pair() (*net.UnixConn, *os.File, error) {
	fds, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	c, err := Socket(os.NewFile(uintptr(fds[0]), "socket"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c, theirs, nil
}

// Socket returns the connection of an open socket, whose file it closes.
func Socket(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("use a socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("use a socket: it is a %T", c)
	}
	return u, nil
}

// write writes a frame, with a file along its first byte.
func (s *socket) write(frame []byte, file *os.File) error {
	if file != nil {
		raw, err := file.SyscallConn()
		if err != nil {
			return err
		}
		n := 0
		if cerr := raw.Control(func(fd uintptr) { n, _, err = s.c.WriteMsgUnix(frame, syscall.UnixRights(int(fd)), nil) }); cerr != nil {
			return cerr
		}
		if err != nil {
			return err
		}
		frame = frame[n:]
	}
	_, err := s.c.Write(frame)
	return err
}

// fill reads more. A side that takes no files has no room for them, so that the kernel
// closes them.
func (s *socket) fill() error {
	if !s.takesFiles {
		n, err := s.c.Read(s.store[:])
		s.buf = s.store[:max(n, 0)]
		return err
	}
	var oob [256]byte
	n, oobn, _, _, err := s.c.ReadMsgUnix(s.store[:], oob[:])
	s.buf = s.store[:max(n, 0)]
	if messages, perr := syscall.ParseSocketControlMessage(oob[:oobn]); perr == nil {
		for _, m := range messages {
			fds, _ := syscall.ParseUnixRights(&m)
			for _, fd := range fds {
				syscall.CloseOnExec(fd)
				s.files = append(s.files, os.NewFile(uintptr(fd), "received"))
			}
		}
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	case len(s.files) > maxFiles:
		return fmt.Errorf("too many files")
	}
	return nil
}

func (s *socket) readFull(b []byte) error {
	for len(b) > 0 {
		if len(s.buf) == 0 && len(b) >= len(s.store) && !s.takesFiles {
			n, err := s.c.Read(b)
			if err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		if len(s.buf) == 0 {
			if err := s.fill(); err != nil {
				return err
			}
		}
		n := copy(b, s.buf)
		b, s.buf = b[n:], s.buf[n:]
	}
	return nil
}

// body reads a body. What is long is allocated as it comes.
func (s *socket) body(length int) ([]byte, error) {
	const atOnce = 1 << 20
	b := make([]byte, 0, min(length, atOnce))
	for len(b) < length {
		from := len(b)
		b = append(b, make([]byte, min(length-from, max(from, atOnce)))...)
		if err := s.readFull(b[from:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// takeFile returns the file that arrived first, nil if there is none.
func (s *socket) takeFile() *os.File {
	if len(s.files) == 0 {
		return nil
	}
	f := s.files[0]
	s.files = s.files[1:]
	return f
}

func (s *socket) close() {
	s.c.Close()
	for _, f := range s.files {
		f.Close()
	}
	s.files = nil
}
