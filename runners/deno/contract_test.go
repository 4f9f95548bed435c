package deno

import (
	"testing"

	"coderunner/runners"
	"coderunner/runners/runnertest"
)

// TestContract tests what every runner promises, as a server has it: most
// processes were started ahead.
func TestContract(t *testing.T) {
	runnertest.Run(t, openParked(t, 2), []runners.Language{runners.TypeScript})
}

// TestContractFresh does a part of the same for JavaScript, whose programs are
// TypeScript's but for six, with processes that are started for their runs.
func TestContractFresh(t *testing.T) {
	runnertest.RunWith(t, open(t, "", nil), []runners.Language{runners.JavaScript}, runnertest.Options{Part: 8})
}
