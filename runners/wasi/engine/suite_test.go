package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
)

// knownFailures are programs of the suite that fail, and why.
var knownFailures = map[string]string{
	"sock_shutdown-invalid_fd": "descriptor 3 is a directory that is open from the start",
	"symlink_create":           "a link may have an absolute target: the machine's directories are all open",
	"truncation_rights":        "rights are not kept",
}

// suiteCase is what the suite says of one of its programs.
type suiteCase struct {
	Root   string            `json:"root"`
	Args   []string          `json:"args"`
	Env    map[string]string `json:"env"`
	Exit   int               `json:"exit_code"`
	Stdout *string           `json:"stdout"`
}

// TestSuite runs the programs of https://github.com/WebAssembly/wasi-testsuite for preview 1,
// whose built programs are on its branch prod/testsuite-base, from the directory that
// CODERUNNER_WASI_TESTSUITE names.
func TestSuite(t *testing.T) {
	dir := os.Getenv("CODERUNNER_WASI_TESTSUITE")
	if dir == "" {
		t.Skip("CODERUNNER_WASI_TESTSUITE does not name a directory with the suite")
	}
	list, err := filepath.Glob(filepath.Join(dir, "tests/*/testsuite/wasm32-wasip1/*.wasm"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	e := engine.New(engine.Config{})
	t.Cleanup(func() { e.Close() })
	for _, file := range list {
		name := strings.TrimSuffix(filepath.Base(file), ".wasm")
		t.Run(name, func(t *testing.T) {
			var c suiteCase
			if b, err := os.ReadFile(strings.TrimSuffix(file, ".wasm") + ".json"); err == nil {
				if err := json.Unmarshal(b, &c); err != nil {
					t.Fatal(err)
				}
			}
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, status := runModule(t, e, wasm, filepath.Join(filepath.Dir(file), cmp.Or(c.Root, "none")), append([]string{name}, c.Args...), c.Env)
			failed := status != c.Exit || c.Stdout != nil && *c.Stdout != out
			switch why := knownFailures[name]; {
			case failed && why == "":
				t.Errorf("status %d, want %d; it printed\n%s", status, c.Exit, out)
			case !failed && why != "":
				t.Errorf("it does not fail any more: %s", why)
			}
		})
	}
}

// runModule runs a module on a machine whose root has the files of a directory.
func runModule(t *testing.T, e *engine.Engine, wasm []byte, root string, args []string, env map[string]string) (out string, status int) {
	t.Helper()
	fsys := memfs.New(memfs.Options{MaxBytes: 256 << 20})
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, name)
		if err != nil || rerr != nil || rel == "." {
			return errors.Join(err, rerr)
		}
		if d.IsDir() {
			return fsys.MkdirAll("/"+rel, 0o755)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return fsys.WriteFile("/"+rel, b, 0o666)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	k, err := kernel.New(kernel.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	stdout := fsys.NewFile(memfs.NewOutput("stdout", &printed), abi.O_WRONLY, abi.S_IFIFO|0o600)
	stdin := fsys.NewFile(memfs.NewInput(strings.NewReader("")), abi.O_RDONLY, abi.S_IFIFO|0o600)
	x := kernel.Exec{Args: args, Files: map[int]*memfs.File{0: stdin, 1: stdout, 2: stdout}}
	for name, value := range env {
		x.Env = append(x.Env, name+"="+value)
	}
	p, err := k.Main(x)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Run(t.Context(), func(ctx context.Context, p *kernel.Process) int {
		code, err := e.Use(ctx, wasm, runners.SHA256(wasm))
		if err != nil {
			t.Error(err)
			return 1
		}
		end, err := engine.Main(ctx, p, code, nil)
		if err != nil {
			t.Error(err)
			return 1
		}
		return end.Finish(ctx, p, args[0])
	})
	if err == nil {
		err = k.Failure()
	}
	if err != nil {
		t.Fatal(err)
	}
	return printed.String(), s.Code()
}
