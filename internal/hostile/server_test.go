//go:build linux

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// outcome is what the server says of a run.
type outcome struct {
	Status          string  `json:"status"`
	ExitCode        int     `json:"exit_code"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
	StdoutTruncated bool    `json:"stdout_truncated"`
	StderrTruncated bool    `json:"stderr_truncated"`
	Result          *value  `json:"result"`
	Error           *failed `json:"error"`
	Usage           usage   `json:"-"` // of _meta

	raw json.RawMessage
}

type usage struct {
	RunMS int64 `json:"run_ms"`
}

type value struct {
	Text string `json:"text"`
}

type failed struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
	Line      int    `json:"line"`
	Packages  []struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	} `json:"packages"`
}

// all is everything that a program said or that was said of it.
func (o *outcome) all() string {
	text := o.Stdout + "\n" + o.Stderr
	if o.Result != nil {
		text += "\n" + o.Result.Text
	}
	if o.Error != nil {
		text += "\n" + o.Error.Type + ": " + o.Error.Message + "\n" + o.Error.Traceback
		for _, p := range o.Error.Packages {
			text += "\n" + p.Name + ": " + p.Reason
		}
	}
	return text
}

func (o *outcome) text() string {
	if o.Result == nil {
		return ""
	}
	return o.Result.Text
}

// message is one of JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// arguments are run_code's.
type arguments struct {
	Language string   `json:"language"`
	Code     string   `json:"code"`
	Timeout  float64  `json:"timeout_seconds,omitempty"`
	Packages []string `json:"packages,omitempty"`
	Stdin    string   `json:"stdin,omitempty"`
	Args     []string `json:"args,omitempty"`
	Files    []file   `json:"files,omitempty"`
}

type file struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// server is a running coderunner and the client at its other end.
type server struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	temp  string // its TMPDIR, for itself alone
	cache string
	ended chan struct{} // closed when its stdout is
	quiet chan struct{} // closed when its stderr is

	writeMu sync.Mutex
	next    atomic.Int64

	mu      sync.Mutex
	waiting map[string]chan message
	states  chan state // what it says of itself
	leaked  []string   // lines with the canary's word
	junk    []string   // lines that are no protocol
	log     strings.Builder
}

// settings of a server.
type settings struct {
	env   []string
	cache string // "" is the suite's own
	args  []string
	raw   bool // no handshake
	dir   string
	poor  []string   // what it has to do without: see bePoor
	extra []*os.File // what it inherits
}

// start starts a server. It is ended with the test.
func start(t testing.TB, set settings) *server {
	t.Helper()
	s, err := launch(t, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	return s
}

func launch(t testing.TB, set settings) (*server, error) {
	t.Helper()
	s := &server{temp: t.TempDir(), cache: set.cache, ended: make(chan struct{}), quiet: make(chan struct{}), waiting: map[string]chan message{}, states: make(chan state, 10)}
	if s.cache == "" {
		s.cache = suiteCache
	}
	s.cmd = exec.Command(binary, set.args...)
	s.cmd.Dir = set.dir
	s.cmd.Env = append(baseEnv(), "TMPDIR="+s.temp, "CODE_RUNNER_CACHE_DIR="+s.cache)
	s.cmd.Env = append(s.cmd.Env, set.env...)
	s.cmd.ExtraFiles = set.extra
	if set.poor != nil {
		poorly(s.cmd, set.poor)
	}
	// A test that is killed leaves no server.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	logs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := startOnMain(s.cmd); err != nil {
		return nil, err
	}
	go s.readLog(logs)
	go s.read(out)
	if set.raw {
		return s, nil
	}
	if err := s.shakeHands(); err != nil {
		s.stop()
		return nil, fmt.Errorf("%w\n%s", err, s.logs())
	}
	return s, nil
}

func (s *server) shakeHands() error {
	ctx, cancel := context.WithTimeout(context.Background(), runFor)
	defer cancel()
	if _, err := s.request(ctx, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "hostile", "version": "1"}}); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return s.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// read hands the server's messages to those who wait for them.
func (s *server) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.take(line)
		}
		if err != nil {
			close(s.ended)
			return
		}
	}
}

func (s *server) take(line string) {
	var m message
	bad := json.Unmarshal([]byte(line), &m) != nil || unreadable(line) != ""
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(line, canary) {
		s.leaked = append(s.leaked, clip(line, 300))
	}
	if bad {
		s.junk = append(s.junk, unreadable(line)+": "+clip(line, 300))
	}
	if c := s.waiting[string(m.ID)]; c != nil && m.Method == "" {
		delete(s.waiting, string(m.ID))
		c <- m
	}
}

// readLog reads what the server logs: its states, and the rest.
func (s *server) readLog(r io.Reader) {
	defer close(s.quiet)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var st state
		if json.Unmarshal(lines.Bytes(), &st) == nil && st.Msg == "state" {
			select {
			case s.states <- st:
			default:
			}
			continue
		}
		s.mu.Lock()
		if s.log.Len() < 1<<20 {
			s.log.WriteString(lines.Text() + "\n")
		}
		if strings.Contains(lines.Text(), canary) {
			s.leaked = append(s.leaked, "log: "+clip(lines.Text(), 300))
		}
		s.mu.Unlock()
	}
}

func (s *server) logs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func (s *server) write(line string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	_, err := io.WriteString(s.in, line+"\n")
	return err
}

var errEnded = errors.New("the server has ended")

// send sends a request. The answer comes on the channel.
func (s *server) send(method string, params any) (id string, answer <-chan message, err error) {
	id = fmt.Sprint(s.next.Add(1))
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		return "", nil, err
	}
	c := make(chan message, 1)
	s.mu.Lock()
	s.waiting[id] = c
	s.mu.Unlock()
	return id, c, s.write(string(b))
}

func (s *server) request(ctx context.Context, method string, params any) (message, error) {
	_, c, err := s.send(method, params)
	if err != nil {
		return message{}, err
	}
	select {
	case m := <-c:
		return m, nil
	case <-s.ended:
		return message{}, errEnded
	case <-ctx.Done():
		return message{}, fmt.Errorf("no answer to %s: %w", method, ctx.Err())
	}
}

// runFor is how long a call may take, besides the limit of the program, before
// we say that it hangs: the machine may be slow and busy, packages may have to
// be fetched, and CPython to be compiled.
const runFor = 5 * time.Minute

func callOf(a arguments) map[string]any {
	return map[string]any{"name": "run_code", "arguments": a}
}

// run runs a program. Text is what a model is shown.
func (s *server) run(a arguments) (*outcome, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), runFor+time.Duration(a.Timeout*float64(time.Second)))
	defer cancel()
	m, err := s.request(ctx, "tools/call", callOf(a))
	if err != nil {
		return nil, "", err
	}
	return decode(m)
}

// decode reads the answer to a call.
func decode(m message) (*outcome, string, error) {
	if m.Error != nil {
		return nil, m.Error.Message, fmt.Errorf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		Meta       struct {
			Usage usage `json:"coderunner/usage"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return nil, "", fmt.Errorf("result %s: %w", clip(string(m.Result), 200), err)
	}
	text := ""
	for _, c := range r.Content {
		text += c.Text
	}
	if r.Structured == nil {
		return nil, text, fmt.Errorf("no outcome: %s", clip(text, 500))
	}
	o := &outcome{raw: r.Structured, Usage: r.Meta.Usage}
	err := json.Unmarshal(r.Structured, o)
	if _, value, ok := strings.Cut("\n"+text, "\nresult: "); ok && o.Result != nil && o.Result.Text == "" {
		o.Result.Text, _, _ = strings.Cut(value, "\nfiles:\n") // the structured content has it as JSON
		o.Result.Text, _, _ = strings.Cut(o.Result.Text, "\nnote: ")
	}
	return o, text, err
}

// stop ends the server as a client does, and reports how.
func (s *server) stop() (took time.Duration, err error) {
	begun := time.Now()
	s.in.Close()
	timer := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	err = s.wait()
	return time.Since(begun), err
}

// kill ends the server as the system does.
func (s *server) kill(sig syscall.Signal) {
	_ = s.cmd.Process.Signal(sig)
	_ = s.wait()
}

// wait waits for the server's end, and for all that it has said. A process that
// it left behind may go on saying something, which nobody waits for.
func (s *server) wait() error {
	<-s.ended
	select {
	case <-s.quiet:
	case <-time.After(20 * time.Second):
	}
	return s.cmd.Wait()
}

// clip shortens a text for a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// baseEnv is the environment of servers: ours, so that registries are found,
// without what the suite sets itself, and with a secret.
func baseEnv() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CODE_RUNNER_") && !strings.HasPrefix(e, "DENO_PERMISSION_ARGS=") && !strings.HasPrefix(e, "TMPDIR=") {
			env = append(env, e)
		}
	}
	return append(env, "HOSTILE_SECRET="+canary, "CODE_RUNNER_MEMORY=256MiB")
}
