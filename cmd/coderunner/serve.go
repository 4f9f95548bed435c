package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/cache"
	"coderunner/cache/contents"
	"coderunner/internal/httpserve"
	"coderunner/internal/process"
	"coderunner/internal/server"
	"coderunner/internal/server/queue"
	"coderunner/internal/session"
)

// closeGrace is how long the runners may take to close at the end.
const closeGrace = 800 * time.Millisecond

// serverAhead is how many interpreters a server keeps ready for the next runs. They take about
// one megabyte each.
const serverAhead = 4

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
	process.BeBatch()
	log := newLogger(zap.InfoLevel)
	defer func() { _ = log.Sync() }()
	logState(log)
	if cfg.Concurrency == 0 {
		cfg.Concurrency = queue.DefaultPlaces(cfg.Limits.Memory)
	}
	cfg.Ahead = min(serverAhead, cfg.Concurrency)
	cfg.Config.Workers = cfg.Workers
	b, err := cfg.open("", log)
	if err != nil {
		return err
	}
	servers, err := cfg.openTools(log)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer servers.Close()
	mcp := server.Config{
		Name: "coderunner", Version: ownVersion(),
		Runners: b.Runners, Hosted: b.Hosted, Limits: cfg.Limits, Concurrency: cfg.Concurrency,
		Policy: b.Policy, Offline: cfg.Offline, Isolation: b.Isolation(),
		Structured: cfg.Structured, Ask: cfg.Ask, Tools: servers, SearchTools: cfg.SearchTools, Log: log,
		Compiled: func(ctx context.Context) []string { return contents.Compiled(ctx, b.Cache) },
		Missing:  b.Missing,
		Packages: func(ctx context.Context) (map[string][]string, error) { return contents.Packages(ctx, b.Cache) },
	}
	stopWarming, ready := b.Warm(ctx)
	if cfg.HTTP.Addr != "" {
		err = serveHTTP(ctx, cfg, mcp, b.Cache, ready, log)
	} else {
		err = serveStdio(ctx, cfg, mcp, b.Cache, wire)
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
	if mcp.Sessions, err = cfg.OpenSessions(c, session.Options{Log: mcp.Log.Named("sessions")}); err != nil {
		return err
	}
	srv, err := server.New(mcp)
	if err != nil {
		return err
	}
	return srv.ServeStdio(ctx, polled(os.Stdin), wire)
}

// polled returns a pipe opened anew, for Go to poll, where that is possible, and else the file:
// a read that blocks a thread costs two switches of threads, and the pipe itself others have, too.
func polled(in *os.File) *os.File {
	if info, err := in.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return in
	}
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", in.Fd()), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return in
	}
	return again
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
