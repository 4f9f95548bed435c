package python_test

import (
	"testing"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/runnertest"
)

func TestContract(t *testing.T) {
	r, err := python.New(python.Config{Cache: pyodidetest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	runnertest.Run(t, r, []runners.Language{runners.Python})
}
