package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// TestNoOrphans ends the server in every way there is while a program runs
// that ignores what it can. The program holds a connection to this test, so
// its end is seen at once.
func TestNoOrphans(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Deno")
	}
	dir := testcache.Dir()
	for name, end := range map[string]func(cmd *exec.Cmd, in io.Closer) error{
		"end of input": func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
		"SIGTERM":      func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			cmd := exec.Command(selfAs(t, "coderunner"), "serve")
			cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+dir,
				"DENO_PERMISSION_ARGS=--allow-net="+listener.Addr().String())
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			code := fmt.Sprintf("Deno.addSignalListener('SIGTERM', () => {});\nawait Deno.connect({hostname: '127.0.0.1', port: %d});\nfor (;;) {}",
				listener.Addr().(*net.TCPAddr).Port)
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"typescript","timeout_seconds":600,"code":%q}}}`+"\n", code)
			_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(3 * time.Minute))
			conn, err := listener.Accept()
			if err != nil {
				t.Fatalf("the program has not begun: %v", err)
			}
			defer conn.Close()
			if err := end(cmd, in); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // of ten
			if _, err := conn.Read(make([]byte, 1)); os.IsTimeout(err) {
				t.Error("the program outlives the server")
			}
		})
	}
}

// selfAs returns the path of this test binary under another name: it is the
// command of that name when it is called by it.
func selfAs(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, bin); err != nil {
		t.Fatal(err)
	}
	return bin
}
