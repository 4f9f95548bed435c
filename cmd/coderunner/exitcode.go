package main

import (
	"fmt"

	"coderunner/runners"
)

// exitError ends the command with its code. It has been printed already, or
// there is nothing to print.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOurFault is the exit code when the program could not be run.
const codeOurFault = 125

// exitCode is run's after a program: the program's own, 124 when a limit ended it.
func exitCode(o *runners.Outcome) int {
	switch o.Status {
	case runners.TimedOut, runners.OutOfMemory, runners.OutputLimit:
		return 124
	case runners.Crashed, runners.NotInstalled, runners.Cancelled, runners.Paused:
		return codeOurFault
	case runners.Succeeded:
		return 0
	}
	if o.ExitCode == 0 {
		return 1
	}
	return o.ExitCode
}
