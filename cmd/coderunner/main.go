// Command coderunner runs Python, JavaScript, TypeScript and bash programs in a
// sandbox, for MCP clients over stdio or HTTP, or for a person at a terminal.
//
// It holds no logic of its own but flags, printing, signals and exit codes: config.go
// reads the flags and the environment, package backend opens the runners, and each
// command has a file.
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
	osuser "os/user"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"coderunner/internal/backend"
	"coderunner/internal/trace"
	"coderunner/internal/worker"
)

func main() { os.Exit(Main()) }

// startPercent is GOGC until the first collection. A start has a few megabytes; looking
// through them for what could be reused would be a tenth of its processor time.
const startPercent = 800

// deferCollection lets a short command end before the collector runs.
func deferCollection() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// Main runs the command line and returns the exit code.
func Main() int {
	if len(os.Args) == 2 && os.Args[1] == worker.Command {
		return worker.Main() // without what people need
	}
	closeInherited()
	deferCollection()
	if len(os.Args) > 1 && os.Args[1] == "run" && slices.ContainsFunc(os.Args, namesJavaScript) {
		go backend.PrepareDeno() // while the command line is read
	}
	if os.Getenv("HOME") == "" { // the cache and settings are in the directory that the system knows
		if u, err := osuser.Current(); err == nil {
			_ = os.Setenv("HOME", u.HomeDir)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan int, 1)
	go func() { done <- execute(ctx) }()
	var end signalError
	var s os.Signal
	for s == nil {
		select {
		case code := <-done:
			return code
		case s = <-signals:
			end.Signal, _ = s.(syscall.Signal)
			if f := taker.Load(); f != nil && s != syscall.SIGHUP && (*f)(end.Signal) {
				s = nil
			}
		}
	}
	signal.Stop(signals) // another signal has its usual effect
	if cancel(end); s == os.Interrupt && atTerminal() {
		defer interrupted()
		defer fmt.Fprintln(os.Stderr) // the terminal shows ^C, and then a prompt
	}
	select {
	case code := <-done:
		if code != 0 {
			code = end.exitCode()
		}
		return code
	case <-time.After(signalGrace + time.Duration(extraGrace.Load())):
		fmt.Fprintln(os.Stderr, "coderunner: ended by a signal before everything had stopped")
		return end.exitCode()
	}
}

// execute runs the command that the command line names.
func execute(ctx context.Context) (code int) {
	cmd, err := newRoot().ExecuteContextC(ctx)
	err = errors.Join(err, trace.Stop())
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "coderunner: %v\n", err)
	}
	if cmd.Name() == "run" {
		return codeOurFault
	}
	return 1
}

// newLogger logs to stderr, one JSON object a line, or for people on a terminal.
func newLogger(level zapcore.Level) *zap.Logger {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(level)
	c.Sampling = nil
	c.OutputPaths = []string{"stderr"}
	c.ErrorOutputPaths = []string{"stderr"}
	c.DisableCaller = true
	c.DisableStacktrace = true
	if term.IsTerminal(int(os.Stderr.Fd())) {
		c.Encoding, c.EncoderConfig.ConsoleSeparator, c.EncoderConfig.TimeKey = "console", ": ", ""
		c.EncoderConfig.EncodeLevel = func(l zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
			out.AppendString("coderunner: " + l.String())
		}
	}
	log, err := c.Build()
	if err != nil {
		return zap.NewNop()
	}
	return log
}
