package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// conn is a server that a script talks to.
type conn struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	log    lockedBuffer
	nextID int
}

// lockedBuffer is written by the process and read by the script.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var conns sync.Map // *testscript.TestScript to *conn

func connOf(ts *testscript.TestScript) *conn {
	s, ok := conns.Load(ts)
	if !ok {
		ts.Fatalf("no server: serve comes first")
	}
	return s.(*conn)
}

// cmdServe is "serve [-raw] [ARG...]": starts coderunner and, unless -raw,
// shakes hands.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	raw := len(args) > 0 && args[0] == "-raw"
	if raw {
		args = args[1:]
	}
	var bin string
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "coderunner"); bin == "" && exists(p) {
			bin = p
		}
	}
	s := &conn{cmd: exec.Command(bin, args...)}
	s.cmd.Dir = ts.MkAbs(".")
	for _, name := range append(passedOn, "PATH", "HOME", "TMPDIR", "DENO_PERMISSION_ARGS", "CODE_RUNNER_OFFLINE",
		"CODE_RUNNER_CACHE_DIR", "CODE_RUNNER_SESSION_DIR", "CODE_RUNNER_CONCURRENCY", "CODE_RUNNER_TIMEOUT", "CODE_RUNNER_STRUCTURED", "CODE_RUNNER_TOOLS") {
		if v := ts.Getenv(name); v != "" {
			s.cmd.Env = append(s.cmd.Env, name+"="+v)
		}
	}
	s.cmd.Stderr = &s.log
	in, err := s.cmd.StdinPipe()
	ts.Check(err)
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	s.in, s.out = in, bufio.NewReaderSize(out, 1<<20)
	ts.Check(s.cmd.Start())
	conns.Store(ts, s)
	ts.Defer(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		conns.Delete(ts)
	})
	if !raw {
		s.send(ts, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}`)
		s.receive(ts)
		s.send(ts, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (s *conn) send(ts *testscript.TestScript, line string) {
	_, err := io.WriteString(s.in, line+"\n")
	ts.Check(err)
}

// answer is any message from the server.
type answer struct {
	line   string
	ID     json.RawMessage
	Method string
	Error  json.RawMessage
	Result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		Meta              json.RawMessage `json:"_meta"`
	}
}

// receive reads one message. Whatever is no JSON-RPC on stdout fails the
// script.
func (s *conn) receive(ts *testscript.TestScript) (a answer) {
	line, err := s.out.ReadString('\n')
	if err != nil {
		ts.Fatalf("the server has ended: %v\n%s", err, s.log.String())
	}
	var version struct{ JSONRPC string }
	if json.Unmarshal([]byte(line), &version) != nil || version.JSONRPC != "2.0" {
		ts.Fatalf("stdout has what is no message: %q", line)
	}
	ts.Check(json.Unmarshal([]byte(line), &a))
	a.line = line
	return a
}

func (s *conn) callLine(ts *testscript.TestScript, id, tool, file string) string {
	var arguments bytes.Buffer
	ts.Check(json.Compact(&arguments, []byte(ts.ReadFile(file))))
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":1}}}`,
		id, tool, arguments.Bytes())
}

// cmdCall is "[!] call [-json] TOOL FILE": calls with the arguments in FILE and
// puts the result's text, or its structured content and _meta, on stdout. With "!" the
// result must be an error.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	structured := len(args) > 0 && args[0] == "-json"
	if structured {
		args = args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("usage: [!] call [-json] TOOL FILE")
	}
	s := connOf(ts)
	s.nextID++
	id := fmt.Sprint(s.nextID)
	s.send(ts, s.callLine(ts, id, args[0], args[1]))
	a := s.receive(ts)
	for a.Method == "notifications/progress" {
		a = s.receive(ts)
	}
	if string(a.ID) != id || a.Error != nil {
		ts.Fatalf("call: %s", a.line)
	}
	if a.Result.IsError != neg {
		ts.Fatalf("isError is %v: %s", a.Result.IsError, a.line)
	}
	if structured {
		var indented bytes.Buffer
		both := fmt.Sprintf(`{"structuredContent":%s,"_meta":%s}`, a.Result.StructuredContent, a.Result.Meta)
		ts.Check(json.Indent(&indented, []byte(both), "", "  "))
		fmt.Fprintln(ts.Stdout(), indented.String())
		return
	}
	for _, c := range a.Result.Content {
		fmt.Fprintln(ts.Stdout(), c.Text)
	}
}

// cmdBegin is "begin ID TOOL FILE": calls and does not wait for the answer.
func cmdBegin(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: begin ID TOOL FILE")
	}
	s := connOf(ts)
	s.send(ts, s.callLine(ts, args[0], args[1], args[2]))
}

// cmdSend is "send LINE": sends a line as it is.
func cmdSend(ts *testscript.TestScript, neg bool, args []string) {
	connOf(ts).send(ts, strings.Join(args, " "))
}

// cmdRecv is "recv": puts the next message that is no progress on stdout.
func cmdRecv(ts *testscript.TestScript, neg bool, args []string) {
	s := connOf(ts)
	a := s.receive(ts)
	for a.Method == "notifications/progress" {
		a = s.receive(ts)
	}
	fmt.Fprint(ts.Stdout(), a.line)
}

// cmdFinish is "finish eof|TERM|INT|KILL": ends the server, which must go with exit
// code 0 if it can.
func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	s := connOf(ts)
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	switch args[0] {
	case "eof":
		ts.Check(s.in.Close())
	case "TERM":
		ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	case "INT":
		ts.Check(s.cmd.Process.Signal(os.Interrupt))
	case "KILL":
		ts.Check(s.cmd.Process.Kill())
	default:
		ts.Fatalf("usage: finish eof|TERM|INT|KILL")
	}
	_, err := io.Copy(io.Discard, s.out)
	ts.Check(err)
	if err := s.cmd.Wait(); err != nil && args[0] != "KILL" {
		ts.Fatalf("the server ended with %v\n%s", err, s.log.String())
	}
}

// cmdLogged is "[!] logged PATTERN": looks into what the server has written to
// stderr.
func cmdLogged(ts *testscript.TestScript, neg bool, args []string) {
	log := connOf(ts).log.String()
	if regexp.MustCompile(args[0]).MatchString(log) == neg {
		ts.Fatalf("logged %q is %v:\n%s", args[0], neg, log)
	}
}
