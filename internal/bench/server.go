package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// server is a process that serves MCP over stdio. Many callers may use it at
// once.
type server struct {
	*client.Client
	pid   int
	calls int
}

// serve starts a command that serves, and shakes hands. The caller closes it.
func serve(ctx context.Context, c command, args ...string) (*server, error) {
	var cmd *exec.Cmd
	pipes := transport.NewStdioWithOptions(c.path, c.env, args, transport.WithCommandFunc(
		func(_ context.Context, path string, env, args []string) (*exec.Cmd, error) {
			cmd = exec.Command(path, args...)
			cmd.Env = env
			return cmd, nil
		}))
	s := &server{Client: client.NewClient(pipes)}
	if err := s.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	s.pid = cmd.Process.Pid
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	if _, err := s.Initialize(ctx, hello); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) close() { _ = s.Close() } // a process that was told to end may do so with any code

// runCode fails unless the program succeeds and prints want.
func (s *server) runCode(ctx context.Context, language, code, want string) error {
	stdout, text, err := s.call(ctx, program(language, code))
	if err == nil && stdout != want {
		err = fmt.Errorf("%w: %.300s, want %.80q", errWrong, text, want)
	}
	return err
}

// program returns the arguments of a call.
func program(language, code string) map[string]any {
	return map[string]any{"language": language, "code": code, "timeout_seconds": 60}
}

// otherIDs are beyond those that the client gives to its own requests.
const otherIDs = int64(1_000_000)

// runOnly is runCode for many callers: it reads the answer for want alone, since to decode it takes
// as long as a third of the run.
func (s *server) runOnly(ctx context.Context, id int, language, code, want string) error {
	answer, err := s.GetTransport().SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(otherIDs + int64(id)), Method: string(mcp.MethodToolsCall),
		Params: map[string]any{"name": "run_code", "arguments": program(language, code)},
	})
	if err == nil && !bytes.Contains(answer.Result, []byte(`"stdout":"`+want+`"`)) {
		err = fmt.Errorf("%w: %.300s, want %s", errWrong, answer.Result, want)
	}
	return err
}

// call runs a program, which must succeed, and returns what it printed, its result after
// it, and the whole answer.
func (s *server) call(ctx context.Context, arguments map[string]any) (stdout string, answer []byte, err error) {
	var call mcp.CallToolRequest
	call.Params.Name = "run_code"
	call.Params.Arguments = arguments
	result, err := s.CallTool(ctx, call)
	if err != nil {
		return "", nil, err
	}
	text, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return "", nil, err
	}
	var out struct {
		Status, Stdout string
		Result         *struct {
			Text string
			JSON json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return "", nil, err
	}
	if out.Result != nil {
		out.Stdout += out.Result.Text + string(out.Result.JSON)
	}
	if out.Status != "succeeded" {
		err = fmt.Errorf("%w: %.300s", errWrong, text)
	}
	return out.Stdout, text, err
}

// cpu returns the time that the process and all below it took of the processors, those that have
// ended among them, or 0 where /proc does not tell.
func (s *server) cpu() time.Duration {
	var ticks time.Duration
	for _, pid := range s.processes() {
		data, _ := os.ReadFile("/proc/" + pid + "/stat") // it may end meanwhile, and is then its parent's
		// What follows the name begins with field 3; the times are 14 to 17.
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		for _, f := range fields[min(11, len(fields)):min(15, len(fields))] {
			n, _ := strconv.Atoi(f)
			ticks += time.Duration(n)
		}
	}
	return ticks * 10 * time.Millisecond
}

// processes returns the ids of the process and of all below it.
func (s *server) processes() []string {
	pids := []string{strconv.Itoa(s.pid)}
	for i := 0; i < len(pids); i++ {
		lists, _ := filepath.Glob("/proc/" + pids[i] + "/task/*/children")
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			pids = append(pids, strings.Fields(string(children))...)
		}
	}
	return pids
}

// privateBytes returns the memory of the process and its children that is
// shared with nobody and backed by no file.
func (s *server) privateBytes() (sum int64) {
	for _, pid := range s.processes() {
		rollup, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup") // a child may end meanwhile
		_, rest, _ := strings.Cut(string(rollup), "\nPrivate_Dirty:")
		var kib int64
		_, _ = fmt.Sscan(rest, &kib)
		sum += kib << 10
	}
	return sum
}
