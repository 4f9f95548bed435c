package connect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// environment are the variables that every server gets, beside those of its configuration:
// those of MCP's own SDKs, the language, the time zone and the temporary directory.
var environment = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

func (s *Server) environment() (env []string) {
	for _, name := range environment {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// connect starts the server, or reaches it, and initializes the connection.
func (s *Server) connect(ctx context.Context) (*conn, error) {
	switch {
	case s.OpenAPI != "":
		return nil, errors.New("it has an API, and no resources of MCP")
	case s.URL != "":
		return s.connectHTTP(ctx)
	}
	path, err := exec.LookPath(s.Command)
	if err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	spec, err := s.confinement(path)
	if err != nil {
		return nil, err
	}
	command := process.Command{Path: path, Args: slices.Clone(s.Args), Dir: s.Dir, Env: s.environment(), Spec: spec}
	c, err := s.connectStdio(ctx, command, client.WithLegacyProtocolOnly())
	if _, newer := errors.AsType[mcp.UnsupportedProtocolVersionError](err); newer {
		c, err = s.connectStdio(ctx, command)
	}
	return c, err
}

// connectStdio starts the server. By the revisions before 2026-07-28, servers tell us of changes,
// and need not be asked first which revision they have, which some never answer.
func (s *Server) connectStdio(ctx context.Context, command process.Command, options ...client.ClientOption) (*conn, error) {
	select {
	case s.o.Room <- struct{}{}:
	default:
		return nil, fmt.Errorf("%d servers run already, as many as may", cap(s.o.Room))
	}
	p, err := process.Start(command)
	if err != nil {
		<-s.o.Room
		return nil, err
	}
	read, write := io.Pipe()
	run := &stdio{p: p, in: input{p.Stdin}}
	var readers sync.WaitGroup
	readers.Go(func() { run.logStderr(s, p.Stderr) })
	gone, ended := make(chan *conn, 1), make(chan struct{})
	readers.Go(func() {
		err := run.copy(write, p.Stdout)
		write.Close() // all that the client is to know: our error is the connection's reason
		run.over(err)
	})
	go func() {
		p.Wait(&readers)
		<-s.o.Room
		code, _ := p.Exit()
		run.over(fmt.Errorf("it has ended with the exit code %d%s", code, run.last))
		close(ended)
		if c := <-gone; c != nil {
			c.close(run.reason())
		}
	}()
	c, err := s.open(ctx, stdioTransport{transport.NewIO(read, run.in, nil)}, options...)
	if err != nil {
		write.Close()
		run.stop()
		gone <- nil
		if <-ended; errors.Is(err, transport.ErrTransportClosed) {
			err = run.reason()
		}
		return nil, err
	}
	c.flood, c.tells = &run.flood, !mcp.IsModernProtocol(c.client.ProtocolVersion())
	c.stop = func() {
		_ = c.client.Close()
		write.Close()
		run.stop()
	}
	gone <- c
	return c, nil
}

// confinement returns what the server may touch, nil if that is everything.
func (s *Server) confinement(path string) (*sandbox.Spec, error) {
	if s.Sandbox == nil {
		return nil, nil
	}
	if level := sandbox.Probe(); level.ABI == 0 {
		return nil, fmt.Errorf("it is to be confined, which this system cannot do: %s", level)
	}
	path, err := filepath.EvalSymlinks(path)
	spec := &sandbox.Spec{Execute: []string{path}, Read: append([]string{s.Dir}, s.Sandbox.Read...), Write: s.Sandbox.Write, Network: s.Sandbox.Network, Attributes: true}
	for _, arg := range s.Args {
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(s.Dir, arg)
		}
		if _, err := os.Stat(arg); err == nil {
			spec.Read = append(spec.Read, arg)
		}
	}
	return spec, err
}

// stdio is a process and what it writes.
type stdio struct {
	p     *process.Process
	in    input
	flood atomic.Int64 // bytes since the last answer

	last string // words of its stderr, which has been read when it has ended

	mu  sync.Mutex
	err error // the first
}

// over notes why the connection ends, once, and ends the process.
func (r *stdio) over(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	if err != nil {
		r.p.Kill(process.StopOutput)
	}
}

func (r *stdio) reason() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// stop closes the server's input, which asks it to end, and kills it if it does not.
func (r *stdio) stop() {
	r.in.Close()
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case <-r.p.End():
	case <-late.C:
		r.p.Kill(process.StopContext)
		<-r.p.End()
	}
}

// copy copies the server's messages within their bounds.
func (r *stdio) copy(w io.Writer, from io.Reader) error {
	buf := make([]byte, 64<<10)
	line := 0
	for {
		n, err := from.Read(buf)
		if at := bytes.LastIndexByte(buf[:n], '\n'); at >= 0 {
			line = n - at - 1
		} else {
			line += n
		}
		switch {
		case line > maxMessage:
			return fmt.Errorf("it has sent a message of more than %d MiB", maxMessage>>20)
		case r.flood.Add(int64(n)) > maxFlood:
			return fmt.Errorf("it has sent more than %d MiB that nobody asked for", maxFlood>>20)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return nil // nobody reads any more
		}
		if err != nil {
			return nil // the process tells more
		}
	}
}

// Bounds of what is logged of a server's stderr.
const (
	maxLogged  = 200 // lines
	maxLogLine = 500 // bytes
)

// logStderr logs the first lines and drops the others.
func (r *stdio) logStderr(s *Server, from io.Reader) {
	lines := bufio.NewReaderSize(from, 4096)
	for n := 0; ; n++ {
		line, more, err := lines.ReadLine()
		text := runners.Clip(s.o.Secrets.Redact(strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))), maxLogLine)
		if text != "" {
			r.last = "; its last words: " + text
			if n < maxLogged {
				s.log.Info("stderr of a server of tools", zap.String("line", text))
			}
		}
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		if err != nil {
			return
		}
	}
}

// input is the server's standard input. A server that does not read is given up.
type input struct{ process.Input }

func (in input) Write(b []byte) (int, error) {
	_ = in.SetWriteDeadline(time.Now().Add(writeTime)) // where it is not implemented, a call still ends at its time
	n, err := in.Input.Write(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = transport.ErrTransportClosed // the process tells more
	}
	return n, err
}
