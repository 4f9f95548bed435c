package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"coderunner/internal/sandbox"
	"coderunner/internal/tools/config"
)

// TestSandbox: a server that is confined reads what its configuration names, and no more.
func TestSandbox(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()} // to read, to write, neither
	c := &config.Config{Servers: []config.Server{{
		Name: "tries", Command: self, Args: []string{dirs[0]}, Env: map[string]string{asServer: "tries"}, Sandbox: &config.Sandbox{Write: dirs[1:2]},
	}}}
	set := Open(c, Options{Version: "test", Tokens: t.TempDir(), Log: zap.NewNop()})
	t.Cleanup(set.Close)
	for i, dir := range dirs {
		file := filepath.Join(dir, "a.txt")
		if err := os.WriteFile(file, []byte("hello"), 0o644); err != nil {
			t.Fatal(err)
		}
		text, code, message := call(t, set.For(Run{}), "tries.echo", fmt.Sprintf(`{"text": %q}`, file))
		if sandbox.Probe().ABI == 0 {
			if code != "unavailable" || !strings.Contains(message, "it is to be confined, which this system cannot do") {
				t.Errorf("%s: %s", code, message)
			}
			continue
		}
		parts := strings.Split(text, "; ")
		if code != "" || len(parts) != 5 {
			t.Fatalf("%q, %s: %s", text, code, message)
		}
		if read := parts[0] == "hello"; read != (i < 2) {
			t.Errorf("%d: read %q, %s", i, parts[0], parts[1])
		}
		if wrote := parts[2] == "<nil>"; wrote != (i == 1) {
			t.Errorf("%d: written: %s", i, parts[2])
		}
		if strings.Contains(parts[3], "refused") || parts[3] == "<nil>" || parts[4] == "<nil>" {
			t.Errorf("%d: it reaches the network (%s), or starts a program (%s)", i, parts[3], parts[4])
		}
	}
}
