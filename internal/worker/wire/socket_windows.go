package wire

import (
	"errors"
	"net"
	"os"
)

// socket is not there: files cannot be passed to another process.
type socket struct {
	c          *net.UnixConn
	takesFiles bool
}

// Pair is not supported.
func Pair() (*net.UnixConn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// Socket is not supported.
func Socket(f *os.File) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }

func (s *socket) write([]byte, *os.File) error { return errors.ErrUnsupported }
func (s *socket) readFull([]byte) error        { return errors.ErrUnsupported }
func (s *socket) body(int) ([]byte, error)     { return nil, errors.ErrUnsupported }
func (s *socket) takeFile() *os.File           { return nil }
func (s *socket) close()                       {}
