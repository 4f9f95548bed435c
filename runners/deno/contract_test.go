package deno

import (
	"testing"

	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// TestContract tests what every runner promises.
func TestContract(t *testing.T) {
	runnertest.Run(t, open(t, "", nil), []runners.Language{runners.JavaScript, runners.TypeScript})
}
