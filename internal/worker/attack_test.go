//go:build linux

package worker_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"coderunner/cache"
	"coderunner/internal/sandbox"
	"coderunner/internal/worker"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/python"
)

// TestAttack has native code in a worker's place try to get out: what a hole in WebAssembly,
// the shell or a decoder would reach.
func TestAttack(t *testing.T) {
	if level := sandbox.Probe(); level.Name != sandbox.Full {
		t.Skip("the kernel confines no processes: " + level.String())
	}
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd) // what whoever started the tests has left open
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	abstract := fmt.Sprintf("@coderunner-attack-%d", os.Getpid())
	local, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	_, sh := open(t)
	if o, err := sh.Run(t.Context(), runners.Request{Language: runners.Bash, Code: "echo"}); err != nil || o.Status != runners.Succeeded {
		t.Fatalf("another worker: %+v, %v", o, err)
	}
	others := workers(t)
	if len(others) == 0 {
		t.Fatal("there is no other worker")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	attack := filepath.Join(t.TempDir(), "attack")
	c := pyodidetest.Cache(t)
	pyodidetest.Runtime(t) // which has files there
	stored, err := filepath.Glob(filepath.Join(c.Path(cache.Files), "*", "*", "*"))
	if err != nil || len(stored) == 0 {
		t.Fatalf("the cache has %d files, %v", len(stored), err)
	}
	flags := fmt.Sprintf("-X main.address=%s -X main.abstract=%s -X main.other=%d -X main.file=%s -X main.stored=%s",
		tcp.Addr(), abstract, others[0].Pid, secret, strings.Join(stored[:min(len(stored), 100)], ","))
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", attack, "./testdata/attack").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := python.New(python.Config{Cache: c})
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	pool := worker.NewPool(worker.Options{Binary: attack, Cache: c, Local: p.Local(), Max: 1, Log: zap.New(core)})
	defer func() {
		pool.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, _, err = pool.Run(t.Context(), runners.Request{Language: runners.Bash, Code: "echo"})
	if err == nil {
		t.Fatal("a program ran in a worker that speaks no protocol")
	}
	if !strings.Contains(err.Error(), "tried") {
		t.Fatalf("%v\n%v", err, logs.All())
	}
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, "worked:") {
			t.Error(strings.TrimSpace(line))
		}
	}
}
