package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"coderunner/cache"
	"coderunner/cache/contents"
	"coderunner/internal/backend"
)

// newCache builds the commands that look after the cache. None of them asks
// anything, fetches anything or starts a runtime.
func newCache(cfg *Config) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after the cache",
	}
	asJSON := cmd.PersistentFlags().Bool("json", false, "print the answer as JSON")
	cmd.AddCommand(newCacheList(cfg, asJSON), newCacheVerify(cfg, asJSON), newCachePrune(cfg, asJSON), newCacheClear(cfg, asJSON))
	return cmd
}

func newCacheList(cfg *Config, asJSON *bool) *cobra.Command {
	verbose := false
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the packages in the cache, and what else is in it",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCache(*cfg, func(c *cache.Cache) error {
				entries, err := c.List(cmd.Context())
				if err != nil {
					return err
				}
				if verbose || *asJSON {
					return printEntries(os.Stdout, *asJSON, c, "entries", entries, cfg.CacheSize)
				}
				return printContents(cmd.Context(), os.Stdout, c, entries, cfg.CacheSize)
			})
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list each entry, with its digest or key")
	return cmd
}

func newCacheVerify(cfg *Config, asJSON *bool) *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read everything in the cache and compare it with its digests",
		Long: "Read everything in the cache and compare it with its digests. What a run finds\n" +
			"damaged it makes or fetches again by itself; this finds the rest. Deno's own\n" +
			"directory is compared when it is used. The exit code is 1 if damage is left.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCache(*cfg, func(c *cache.Cache) error { return verifyCache(cmd.Context(), c, remove, *asJSON) })
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove what is damaged: it is made or fetched again when it is needed")
	return cmd
}

func newCachePrune(cfg *Config, asJSON *bool) *cobra.Command {
	days := 30
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove what has not been used for long",
		Long: "Remove what has not been used for long, and the runtimes of older versions: those that\n" +
			"were last used a day before another version's, and that no process uses.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 || days > 36500 {
				return fmt.Errorf("--days %d: want 1 to 36500; coderunner cache clear removes everything", days)
			}
			return withCache(*cfg, func(c *cache.Cache) error {
				removed, err := c.Prune(cmd.Context(), time.Duration(days)*24*time.Hour, backend.RuntimeKinds...)
				return errors.Join(printRemoved(os.Stdout, *asJSON, c, removed), err)
			})
		},
	}
	cmd.Flags().IntVar(&days, "days", days, "how long, in days")
	return cmd
}

func newCacheClear(cfg *Config, asJSON *bool) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove everything in the cache; sessions stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCache(*cfg, func(c *cache.Cache) error {
				if users := c.Users(); len(users) > 0 && !force {
					return fmt.Errorf("clear %s: it is in use by process %s; hint: end it first, or use --force: its runs may fail until it has fetched things again", c.Root(), join(users))
				}
				removed, err := c.Clear(cmd.Context(), cfg.SessionDir)
				return errors.Join(printRemoved(os.Stdout, *asJSON, c, removed), err)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also while other processes use it")
	return cmd
}

func join(pids []int) string {
	var list []string
	for _, pid := range pids {
		list = append(list, strconv.Itoa(pid))
	}
	return strings.Join(list, ", ")
}

// cacheEntry is an entry as --json prints it.
type cacheEntry struct {
	Section string    `json:"section"`
	Kind    string    `json:"kind,omitempty"`
	Key     string    `json:"key"`
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`
	Used    time.Time `json:"used"`
	Problem string    `json:"problem,omitempty"`
	Removed bool      `json:"removed,omitempty"`
}

func entryJSON(e cache.Entry) cacheEntry {
	return cacheEntry{Section: e.Section, Kind: e.Kind, Key: e.Key, Path: e.Path, Bytes: e.Size, Used: e.Used.UTC()}
}

// printEntries prints entries and their sum, under a name of their own in JSON.
func printEntries(w io.Writer, asJSON bool, c *cache.Cache, name string, entries []cache.Entry, limit int64) error {
	list := []cacheEntry{}
	for _, e := range entries {
		list = append(list, entryJSON(e))
	}
	if asJSON {
		counted, apart := contents.Sizes(entries)
		return printJSON(w, map[string]any{"path": c.Root(), name: list, "bytes": counted, "session_bytes": apart, "limit_bytes": limit})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\t  %s\n", contents.Size(e.Size), humanize.Time(e.Used), contents.Printable(e.String()))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printSum(w, c, len(entries), name, entries, limit)
}

// printRemoved prints what was removed, a line for each sort of content.
func printRemoved(w io.Writer, asJSON bool, c *cache.Cache, removed []cache.Entry) error {
	if asJSON {
		return printEntries(w, true, c, "removed", removed, 0)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range contents.Sums(removed) {
		fmt.Fprintf(table, "%s\t  %s (%d)\n", contents.Size(line.Size), line.Name, line.Count)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printSum(w, c, len(removed), "removed", removed, 0)
}

// printContents prints the packages in the cache, the sums of the rest and of all.
func printContents(ctx context.Context, w io.Writer, c *cache.Cache, entries []cache.Entry, limit int64) error {
	packages := 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range contents.Lines(ctx, entries) {
		text := contents.Printable(line.Sort + " " + line.Name)
		if line.Sort == "" {
			text = fmt.Sprintf("%s (%d)", line.Name, line.Count)
		} else {
			packages++
		}
		fmt.Fprintf(table, "%s\t%s\t  %s\n", contents.Size(line.Size), humanize.Time(line.Used), text)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printSum(w, c, packages, "packages", entries, limit)
}

// printSum prints what counts against the cache's limit, and below it what does not.
func printSum(w io.Writer, c *cache.Cache, n int, name string, entries []cache.Entry, limit int64) error {
	counted, apart := contents.Sizes(entries)
	_, err := fmt.Fprintf(w, "%d %s, %s in %s\n", n, name, contents.Filled(counted, limit), c.Root())
	if err == nil && apart > 0 {
		_, err = fmt.Fprintf(w, "besides, sessions: %s (coderunner sessions; CODE_RUNNER_SESSION_DISK limits them)\n", contents.Size(apart))
	}
	return err
}

func verifyCache(ctx context.Context, c *cache.Cache, remove, asJSON bool) error {
	entries, err := c.List(ctx)
	if err != nil {
		return err
	}
	problems, err := c.Verify(ctx)
	if err != nil {
		return err
	}
	left, list := 0, []cacheEntry{}
	for _, p := range problems {
		e := entryJSON(p.Entry)
		e.Problem = p.Err.Error()
		if remove {
			if err := c.Remove(ctx, p.Entry); err != nil {
				return err
			}
			e.Removed = true
		} else {
			left++
		}
		list = append(list, e)
	}
	if asJSON {
		err = printJSON(os.Stdout, map[string]any{"path": c.Root(), "entries": len(entries), "problems": list})
	} else {
		for i, p := range problems {
			done := ""
			if list[i].Removed {
				done = " (removed)"
			}
			fmt.Printf("%s: %s%s\n", contents.Printable(p.Entry.String()), contents.Printable(p.Err.Error()), done)
		}
		_, err = fmt.Printf("%d entries, %d damaged\n", len(entries), len(problems))
	}
	if err == nil && left > 0 {
		if !asJSON {
			fmt.Fprintln(os.Stderr, "hint: coderunner cache verify --remove")
		}
		err = &exitError{1}
	}
	return err
}

// withCache opens the cache that the configuration names, and no other.
func withCache(cfg Config, use func(*cache.Cache) error) error {
	c, err := cache.Open(cfg.CacheDir)
	if err != nil {
		return err
	}
	if why := c.Unusable(); why != nil {
		return errors.Join(why, c.Close())
	}
	return errors.Join(use(c), c.Close())
}
