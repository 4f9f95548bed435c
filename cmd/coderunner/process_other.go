//go:build !unix

package main

import (
	"os"
	"syscall"

	"go.uber.org/zap"
)

// closeInherited has nothing to do: descriptors are not inherited here unless
// one asks for it.
func closeInherited() {}

// dupStdout returns stdout as it is: there is no descriptor 1 to guard.
func dupStdout() (*os.File, error) { return os.Stdout, nil }

// inBackground is false: there is no job control.
func inBackground(*os.File) bool { return false }

// raise does nothing: there is nobody to tell.
func raise(syscall.Signal) {}

// logState does nothing: there is no signal to ask with.
func logState(*zap.Logger) {}
