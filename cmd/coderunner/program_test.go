package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestNoProgram has files that cannot be programs: the error names the file, not the
// tool's argument.
func TestNoProgram(t *testing.T) {
	for text, want := range map[string]string{
		"\x7fELF\x02\x01\x01\x00":              "main.js: not text but a binary file",
		strings.Repeat("1\n", runners.MaxCode): "main.js: longer than the 2 MiB",
	} {
		name := filepath.Join(t.TempDir(), "main.js")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := newRequest(t.Context(), Config{}, runOptions{}, name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
