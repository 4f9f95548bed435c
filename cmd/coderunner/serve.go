package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/cache"
	"coderunner/internal/httpserve"
	"coderunner/internal/server"
	"coderunner/internal/session"
	"coderunner/runners/deno"
)

// closeGrace is how long the runners may take to close at the end.
const closeGrace = 800 * time.Millisecond

// endedEarly is logged by a server that has left something behind, for the next
// one to remove.
const endedEarly = "ended before everything had stopped"

func newServe(cfg *Config) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve MCP over stdio, or over HTTP",
		Example: "  coderunner serve --http 127.0.0.1:8000 --http-token-file token",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), *cfg) },
	}
	addFlags(cmd.Flags(), httpSettings)
	return cmd
}

// serve speaks MCP on stdin and stdout until stdin ends, or over HTTP, until a signal
// comes.
func serve(ctx context.Context, cfg Config) error {
	wire, err := claimStdout()
	if err != nil {
		return err
	}
	// A client that has gone is an error from Write, not the end of the
	// process before its children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if cfg.HTTP.Addr != "" {
		if err := httpserve.CheckAddr(cfg.HTTP.Addr); err != nil {
			return fmt.Errorf("--http: %w", err)
		}
	}
	if cfg.HTTP.Addr == "" && term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(os.Stderr, "coderunner waits for an MCP client on stdin (coderunner --help lists the other commands)")
	}
	log := newLogger(zap.InfoLevel)
	defer func() { _ = log.Sync() }()
	logState(log)
	b, err := openBackend(cfg, "", serverAhead, log)
	if err != nil {
		return err
	}
	mcp := server.Config{
		Name: "coderunner", Version: ownVersion(),
		Runners: b.languages(), Limits: cfg.Limits, Concurrency: cfg.Concurrency,
		Policy: b.policy, Offline: cfg.Offline, Isolation: deno.Isolation(b.policy).Name,
		Structured: cfg.Structured, Ask: cfg.Ask, Log: log,
		Compiled: func(ctx context.Context) []string { return compiledPackages(ctx, b.cache) },
		Missing:  b.missingPackages,
		Packages: func(ctx context.Context) (map[string][]string, error) { return cachedPackages(ctx, b.cache) },
	}
	stopWarming, ready := warmInBackground(ctx, b, log)
	if cfg.HTTP.Addr != "" {
		err = serveHTTP(ctx, cfg, mcp, b.cache, ready, log)
	} else {
		err = serveStdio(ctx, cfg, mcp, b.cache, wire)
	}
	stopWarming()
	if err != nil && !errors.Is(err, server.ErrStillRunning) {
		return errors.Join(err, b.Close())
	}
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

func serveStdio(ctx context.Context, cfg Config, mcp server.Config, c *cache.Cache, wire *os.File) (err error) {
	if mcp.Sessions, err = openSessions(cfg, c, session.Options{Log: mcp.Log.Named("sessions")}); err != nil {
		return err
	}
	srv, err := server.New(mcp)
	if err != nil {
		return err
	}
	return srv.ServeStdio(ctx, os.Stdin, wire)
}

// warmInBackground prepares the runtimes while the client shakes hands. stop
// ends that; closing the backend waits for it. ready returns an error until a runtime
// is prepared and the others have been tried.
func warmInBackground(ctx context.Context, b *backend, log *zap.Logger) (stop func(), ready func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var left, failed atomic.Int32
	all := b.all()
	left.Store(int32(len(all)))
	for _, r := range all {
		b.warming[r].Go(func() {
			if err := r.Warm(ctx, nil, nil); err != nil && ctx.Err() == nil {
				failed.Add(1)
				log.Warn("prepare runtime", zap.Error(err))
			}
			left.Add(-1)
		})
	}
	return cancel, func() error {
		switch {
		case left.Load() > 0:
			return errors.New("the runtimes are being prepared")
		case int(failed.Load()) == len(all):
			return errors.New("no runtime could be prepared: the log says why")
		}
		return nil
	}
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
