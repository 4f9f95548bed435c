package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/cache"
	"coderunner/internal/session"
	"coderunner/internal/tools"
	"coderunner/runners"
)

// newSessions builds the commands that look after sessions.
func newSessions(cfg *Config) *cobra.Command {
	var store *session.Store
	do := func(use, short string, args int, f func(ctx context.Context, args []string) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(args), RunE: func(cmd *cobra.Command, args []string) error {
			return withCache(*cfg, func(c *cache.Cache) (err error) {
				if store, err = cfg.OpenSessions(c, session.Options{Command: true, Log: newLogger(zap.WarnLevel)}); err == nil {
					err = f(cmd.Context(), args)
				}
				return err
			})
		}}
	}
	list := func(ctx context.Context, _ []string) error {
		list, err := store.List(ctx)
		if text := session.ListText(list); text != "" {
			fmt.Fprintln(os.Stdout, text)
		}
		return err
	}
	cmd := do("sessions", "List the sessions, and look after them", 0, list)
	listing := do("list", "List the sessions", 0, list)
	listing.Aliases = []string{"ls"}
	cmd.AddCommand(
		listing,
		do("history NAME", "List the states of a session", 1, func(_ context.Context, args []string) error {
			info, err := store.Describe(args[0])
			if err == nil {
				fmt.Fprintln(os.Stdout, session.HistoryText(info))
			}
			return err
		}),
		do("fork NAME COPY", "Copy a session", 2, func(ctx context.Context, args []string) error {
			return store.Fork(ctx, args[0], args[1], 0)
		}),
		do("rewind NAME STATE", "Go back to a state of a session", 2, func(ctx context.Context, args []string) error {
			state, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("%q is not the number of a state: \"coderunner sessions history NAME\" lists them", args[1])
			}
			_, err = store.Rewind(ctx, args[0], state)
			return err
		}),
		do("reset NAME", "Empty a session", 1, func(ctx context.Context, args []string) error { return store.Reset(ctx, args[0]) }),
		newDecision(cfg, "approve", "Make the calls of tools that a session's program waits with, and have it go on"),
		newDecision(cfg, "reject", "Refuse the calls of tools that a session's program waits with, and have it go on"),
		do("close NAME", "Remove a session", 1, func(ctx context.Context, args []string) error { return store.Close(ctx, args[0]) }),
	)
	return cmd
}

// newDecision builds the command that approves or rejects what a session's program waits with.
func newDecision(cfg *Config, name, short string) *cobra.Command {
	var call int
	var arguments string
	var o runOptions
	cmd := &cobra.Command{Use: name + " NAME", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		set, err := cfg.needTools()
		if err != nil {
			return err
		}
		defer set.Close()
		var left tools.Journal
		var instead json.RawMessage
		if arguments != "" {
			instead = json.RawMessage(arguments)
		}
		stdout, stderr := openStreams(-1)
		var out *runners.Outcome
		err = withCache(*cfg, func(c *cache.Cache) error {
			store, err := cfg.OpenSessions(c, session.Options{Command: true, Log: newLogger(zap.WarnLevel)})
			if err == nil {
				out, err = store.Resume(cmd.Context(), args[0], left.Decision(call, name == "approve", instead), func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
					if !o.json {
						req.Stdout, req.Stderr = stdout, stderr
					}
					return resume(ctx, *cfg, set, args[0], &left, req)
				})
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case out == nil:
			fmt.Fprintf(os.Stdout, "The program waits for the other decisions:\n%s", left.Text())
			return nil
		}
		return o.show(out, cfg.Limits, &firstSignal{}, stdout, stderr)
	}}
	cmd.Flags().IntVar(&call, "call", 0, "`NUMBER` of the call, where several wait (default: all)")
	if name == "approve" {
		cmd.Flags().StringVar(&arguments, "arguments", "", "other arguments for the call, a `JSON` object")
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the outcome as JSON instead")
	return cmd
}

// resume runs a paused program again.
func resume(ctx context.Context, cfg Config, set *tools.Set, session string, journal *tools.Journal, req runners.Request) (*runners.Outcome, error) {
	b, err := cfg.open(req.Language, newLogger(zap.WarnLevel))
	if err != nil {
		return nil, err
	}
	if req.Project != nil { // a command has begun it, and its stdin is ours
		req.Stdin = programStdin(os.Stdin, req.Language)
		req.Terminal = req.Stdin != nil && term.IsTerminal(int(os.Stdin.Fd()))
	}
	out, err := tools.Pausable(journal, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		return runWithTools(ctx, b, set, session, req)
	})(ctx, req)
	return out, errors.Join(err, b.Close())
}
