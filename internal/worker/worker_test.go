package worker_test

import (
	"context"
	"os"
	"testing"

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
