package deno

import (
	"testing"

	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// TestContract tests what every runner promises, as a server has it: most
// processes were started ahead.
func TestContract(t *testing.T) {
	runnertest.Run(t, openParked(t, 2), []runners.Language{runners.JavaScript, runners.TypeScript})
}

// TestContractFresh does a part of the same with processes that are started for
// their runs.
func TestContractFresh(t *testing.T) {
	runnertest.RunWith(t, open(t, "", nil), []runners.Language{runners.JavaScript, runners.TypeScript}, runnertest.Options{Part: 4})
}
