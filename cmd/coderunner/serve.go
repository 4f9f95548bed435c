package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/internal/server"
	"coderunner/runners/deno"
)

// closeGrace is how long the runners may take to close at the end.
const closeGrace = 800 * time.Millisecond

// endedEarly is logged by a server that has left something behind, for the next
// one to remove.
const endedEarly = "ended before everything had stopped"

func newServe(cfg *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over stdio",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), *cfg) },
	}
}

// serve speaks MCP on stdin and stdout until stdin ends or a signal comes.
func serve(ctx context.Context, cfg Config) error {
	wire, err := claimStdout()
	if err != nil {
		return err
	}
	// A client that has gone is an error from Write, not the end of the
	// process before its children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(os.Stderr, "coderunner waits for an MCP client on stdin (coderunner --help lists the other commands)")
	}
	log := newLogger(zap.InfoLevel)
	defer func() { _ = log.Sync() }()
	logState(log)
	b, err := openBackend(cfg, "", serverAhead, log)
	if err != nil {
		return err
	}
	sessions, err := openSessions(cfg, b.cache, log.Named("sessions"))
	if err != nil {
		return errors.Join(err, b.Close())
	}
	srv, err := server.New(server.Config{
		Name: "coderunner", Version: ownVersion(),
		Runners: b.languages(), Limits: cfg.Limits, Concurrency: cfg.Concurrency,
		Policy: b.policy, Offline: cfg.Offline, Isolation: deno.Isolation(b.policy).Name,
		Structured: cfg.Structured, Sessions: sessions, Log: log,
		Compiled: func(ctx context.Context) []string { return compiledPackages(ctx, b.cache) },
		Missing:  b.missingPackages,
		Packages: func(ctx context.Context) (map[string][]string, error) { return cachedPackages(ctx, b.cache) },
	})
	if err != nil {
		return errors.Join(err, b.Close())
	}
	stopWarming := warmInBackground(ctx, b, log)
	err = srv.ServeStdio(ctx, os.Stdin, wire)
	stopWarming()
	if err != nil {
		log.Warn(endedEarly, zap.Error(err))
		return nil // the process ends, and everything with it
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err = <-closed:
		return err
	case <-time.After(closeGrace):
		// A compilation, for one, cannot be stopped. What it would have written
		// is put in place only when it is whole.
		log.Warn(endedEarly)
		return nil
	}
}

// warmInBackground prepares the runtimes while the client shakes hands. stop
// ends that; closing the backend waits for it.
func warmInBackground(ctx context.Context, b *backend, log *zap.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	for _, r := range b.all() {
		b.warming[r].Go(func() {
			if err := r.Warm(ctx, nil, nil); err != nil && ctx.Err() == nil {
				log.Warn("prepare runtime", zap.Error(err))
			}
		})
	}
	return cancel
}

// claimStdout returns the real stdout, for the protocol alone, and makes file
// descriptor 1 and os.Stdout another name of stderr: whatever else is printed,
// by any library, cannot get between two messages.
func claimStdout() (*os.File, error) {
	wire, err := dupStdout()
	if err != nil {
		return nil, fmt.Errorf("claim stdout: %w", err)
	}
	os.Stdout = os.Stderr
	return wire, nil
}
