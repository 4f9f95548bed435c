package python

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// mostForCall is the processor time that a call of a package with a snapshot may
// take.
const mostForCall = 20 * time.Millisecond

// modulesOf is a program that returns the modules that a package is imported by: the
// one of its own name, or all that are not private, those of a namespace by their full
// names.
const modulesOf = `import importlib.metadata as m, re
name = %q
files = [f for f in m.files(name) if f.suffix == ".py"]
dirs = {f.parts[:-1] for f in files if f.name == "__init__.py"}
modules = {d for d in dirs if d[:-1] not in dirs} | {(f.parts[0][:-3],) for f in files if len(f.parts) == 1}
tops = sorted(".".join(p) for p in modules if all(map(str.isidentifier, p)))
own = re.sub(r"[-_.]+", "_", name).lower()
[t for t in tops if t.lower() == own] or [t for t in tops if not t.startswith("_") and t.partition(".")[0] not in ("tests", "test", "docs", "examples")] or sorted(".".join(f.with_suffix("").parts) for f in files)[:1] or [own]`

// TestPopular makes a table of packages: which import, which have a snapshot after
// it, and what a call costs from then on. CODERUNNER_PACKAGES names a file with one
// package a line; each is installed from the configured index.
func TestPopular(t *testing.T) {
	list := os.Getenv("CODERUNNER_PACKAGES")
	if list == "" {
		t.Skip("CODERUNNER_PACKAGES names no file with packages")
	}
	names, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	seen, logs := observer.New(zapcore.InfoLevel)
	config := registryConfig(pyodidetest.Cache(t))
	config.Log = zap.New(seen)
	r, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range strings.Fields(string(names)) {
		t.Run(name, func(t *testing.T) { popular(t, r, logs, name) })
	}
}

// popular tells of one package. It fails where a package imports and has no
// snapshot, or costs too much with one.
func popular(t *testing.T, r *Runner, logs *observer.ObservedLogs, name string) {
	call := func(code string) *runners.Outcome {
		t.Helper()
		o, err := r.Run(t.Context(), runners.Request{Language: runners.Python, Code: code, Packages: []string{name}, Limits: runners.Limits{Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := call(fmt.Sprintf(modulesOf, name))
	if o.Status == runners.NotInstalled {
		t.Logf("%s | not installable | %s", name, firstLine(o.Error.Message))
		return
	}
	if o.Result == nil || o.Result.Text == "[]" {
		t.Logf("%s | no modules | %+v", name, o.Error)
		return
	}
	tops := strings.Split(strings.NewReplacer("[", "", "]", "", "'", "", " ", "").Replace(o.Result.Text), ",")
	code := fmt.Sprintf("import sys\nhad = %q in sys.modules\nimport %s\nhad", tops[0], strings.Join(tops, ", "))
	s := r.open.engine.snapshots
	s.Waits = false
	logs.TakeAll()
	if o = call(code); o.Error != nil {
		t.Logf("%s | does not import | %s: %s", name, o.Error.Type, firstLine(o.Error.Message))
		return
	}
	s.Builder.Wait()
	least := time.Hour
	for range 5 {
		begun := runnertest.ProcessorTime(t)
		o = call(code)
		least = min(least, runnertest.ProcessorTime(t)-begun)
	}
	if o.Result == nil || o.Result.Text != "True" {
		why := "unknown"
		for _, e := range logs.TakeAll() {
			why = fmt.Sprint(e.ContextMap()["error"])
		}
		t.Errorf("%s | no snapshot | %s | %v", name, why, least)
		return
	}
	t.Logf("%s | snapshot | %.1f ms", name, float64(least.Microseconds())/1000)
	if least > mostForCall {
		t.Errorf("%s | slow | a call takes %v of processor time, want %v at most", name, least, mostForCall)
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
