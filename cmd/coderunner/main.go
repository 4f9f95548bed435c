// Command coderunner runs Python, JavaScript and TypeScript programs in a
// sandbox, for an MCP client over stdio or for a person at a terminal.
//
// It holds no logic of its own: config.go reads the environment and the flags,
// wire.go joins the packages, and each command has a file.
//
// # Testing
//
// Scripts in testdata drive the real binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(Main()) }

// exitError is an error that has been told already, or needs no telling, and
// ends the command with its code.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Main runs the command line and gives the exit code.
func Main() int {
	keepDescriptors()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal has its usual effect.
	context.AfterFunc(ctx, stop)

	root := newRoot()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	fmt.Fprintf(os.Stderr, "coderunner: %v\n", err)
	if cmd.Name() == "run" {
		return codeOurFault
	}
	return 1
}
