package worker_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/zap/zaptest"

	"coderunner/internal/compiler"
	"coderunner/internal/worker"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/python"
	"coderunner/runners/runnertest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == worker.Command {
		os.Exit(worker.Main())
	}
	if len(os.Args) > 1 && os.Args[1] == compiler.Command {
		os.Exit(compiler.Main(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// open returns runners whose programs run in workers.
func open(t *testing.T, permissions ...string) (py, sh runners.Runner) {
	t.Helper()
	policy, err := runners.ParsePolicy(permissions)
	if err != nil {
		t.Fatal(err)
	}
	c, log := pyodidetest.Cache(t), zaptest.NewLogger(t)
	p, err := python.New(python.Config{Cache: c, Policy: policy, Log: log, MaxIdle: 1})
	if err != nil {
		t.Fatal(err)
	}
	pool := worker.NewPool(worker.Options{
		Cache: c, Policy: policy, Local: p.Local(), Compile: compiler.New(1 << 30).Compile, Ahead: 1, Max: 3, Log: log,
	})
	t.Cleanup(func() {
		pool.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return worker.Runner{Runner: p, Language: runners.Python, Pool: pool}, worker.Runner{Runner: bash.New(bash.Config{Policy: policy}), Language: runners.Bash, Pool: pool}
}

// TestContract holds programs in workers to what programs in the server's process are held to.
func TestContract(t *testing.T) {
	py, sh := open(t)
	t.Run("python", func(t *testing.T) { runnertest.Run(t, py, []runners.Language{runners.Python}) })
	t.Run("bash", func(t *testing.T) { runnertest.Run(t, sh, []runners.Language{runners.Bash}) })
}

// TestInWorkers runs programs whose requests have what others have not: none of them is the
// server's own to run, whatever its input is.
func TestInWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Pyodide")
	}
	py, _ := open(t)
	r := py.(worker.Runner)
	r.Runner = nil // the server's own: a nil pointer, if it is asked to run one
	for name, in := range map[string]io.Reader{"text": strings.NewReader("x"), "bytes": bytes.NewReader([]byte("x")), "stream": io.MultiReader(strings.NewReader("x"))} {
		t.Run(name, func(t *testing.T) {
			o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: "print(input())", Stdin: in})
			if err != nil || o.Stdout != "x\n" {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	if o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: "1", Stdin: iotest.ErrReader(io.ErrNoProgress)}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%+v, %v", o, err)
	}
}
