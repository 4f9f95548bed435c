package main

import "fmt"

// exitError ends the command with its code. It has been printed already, or
// there is nothing to print.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// codeOurFault is the exit code when the program could not be run.
const codeOurFault = 125
