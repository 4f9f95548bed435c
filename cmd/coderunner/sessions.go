package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"coderunner/cache"
	"coderunner/internal/session"
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
		do("close NAME", "Remove a session", 1, func(ctx context.Context, args []string) error { return store.Close(ctx, args[0]) }),
	)
	return cmd
}
