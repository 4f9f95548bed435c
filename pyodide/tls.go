package pyodide

import (
	"bytes"
	"context"
	"crypto/x509"
	"sync"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/tlsbio"
)

// tlsDevice is where the guest's module _ssl has its connections: one open is a
// tlsbio.Session. A request is written, in any number of parts, then its answer is
// read.
const tlsDevice = "/dev/coderunner-tls"

// openTLSDevice returns the device's open function. What connections share is made
// by the first.
func openTLSDevice(in *instance, o Options) func(context.Context, uint32) (memfs.Stream, abi.Errno) {
	fsys := in.fs
	system := in.compiled.config.Roots
	if system == nil {
		system = x509.SystemCertPool
	}
	store := sync.OnceValue(func() *tlsbio.Store {
		return &tlsbio.Store{System: system, Extra: o.Authorities, Reserve: fsys.Reserve, Unreserve: fsys.Unreserve}
	})
	return func(context.Context, uint32) (memfs.Stream, abi.Errno) {
		return &tlsStream{fs: fsys, session: tlsbio.Session{Store: store()}}, abi.OK
	}
}

// tlsStream is one open of the device.
type tlsStream struct {
	fs      *memfs.FS
	session tlsbio.Session
	request []byte
	answer  bytes.Reader
	held    int64 // bytes reserved for the request and the answer
}

// reserve makes the reservation at least n bytes.
func (s *tlsStream) reserve(n int64) bool {
	if n > s.held {
		if !s.fs.Reserve(n - s.held) {
			return false
		}
		s.held = n
	}
	return true
}

// Write implements memfs.Stream. A new request drops what is left of an answer.
func (s *tlsStream) Write(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	size := len(s.request) + len(p)
	if size > tlsbio.MaxRequest {
		return 0, abi.EFBIG
	}
	// The answer has the size of the request or of what is read, and both hold
	// what crypto/tls buffers.
	if !s.reserve(int64(4*size) + tlsbio.MaxFeed/4) {
		return 0, abi.ENOMEM
	}
	s.request = append(s.request, p...)
	s.answer.Reset(nil)
	return len(p), abi.OK
}

// Read implements memfs.Stream.
func (s *tlsStream) Read(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	if len(s.request) > 0 {
		s.answer.Reset(s.session.Do(s.request))
		s.request = s.request[:0]
		if cap(s.request) > tlsbio.MaxFeed {
			s.request = nil
		}
	}
	n, _ := s.answer.Read(p) // only io.EOF, which is 0 and OK here
	return n, abi.OK
}

// Close implements memfs.Stream.
func (s *tlsStream) Close() abi.Errno {
	s.session.Close()
	s.fs.Unreserve(s.held)
	return abi.OK
}
