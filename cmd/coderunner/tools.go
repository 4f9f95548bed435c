package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/internal/tools"
	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// openTools returns the servers whose tools programs may call, nil if there are none. The
// caller closes them.
func (c Config) openTools(log *zap.Logger) (*tools.Set, error) {
	if c.Tools == "" {
		return nil, nil
	}
	own := config.Own{Packages: slices.DeleteFunc([]string{npmPackage, pypiPackage, image}, func(name string) bool { return name == "" })}
	own.Executable, _ = os.Executable()
	servers, err := config.Load(c.Tools, own)
	if err != nil {
		return nil, fmt.Errorf("--tools: %w", err)
	}
	if len(servers.Servers) == 0 {
		log.Warn("there are no servers of tools", zap.String("in", c.Tools), zap.Strings("left out", servers.LeftOut))
		return nil, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("find the tokens of tools: %w", err)
	}
	return tools.Open(servers, tools.Options{Version: ownVersion(), Tokens: filepath.Join(dir, "coderunner", "tools"), Shapes: filepath.Join(dir, "coderunner", "tools", "shapes"), Log: log.Named("tools")}), nil
}

// needTools is openTools for a command that can do nothing without servers.
func (c Config) needTools() (*tools.Set, error) {
	set, err := c.openTools(newLogger(zap.WarnLevel))
	if err == nil && set == nil {
		err = errors.New("there are no servers: --tools FILE or --tools CLIENT names them")
	}
	return set, err
}

// newTools builds the commands for a person who calls tools, or wants to know of them.
func newTools(cfg *Config) *cobra.Command {
	var yes, asJSON bool
	do := func(use, short string, args cobra.PositionalArgs, f func(ctx context.Context, set *tools.Set, t *tools.Tools, args []string) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
			set, err := cfg.needTools()
			if err != nil {
				return err
			}
			defer set.Close()
			return f(cmd.Context(), set, set.For(tools.Run{Client: "command", Ask: askAt(yes)}), args)
		}}
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON instead")
		return cmd
	}
	list := do("list [SERVER]", "List the tools of all servers, or of one", cobra.MaximumNArgs(1), func(ctx context.Context, _ *tools.Set, t *tools.Tools, args []string) error {
		if len(args) == 0 {
			args = t.Servers()
		}
		return listTools(ctx, t, args, asJSON)
	})
	list.Aliases = []string{"ls"}
	call := do("call SERVER.TOOL [ARGUMENTS]", "Call a tool with arguments, a JSON object", cobra.RangeArgs(1, 2), func(ctx context.Context, _ *tools.Set, t *tools.Tools, args []string) error {
		r, err := t.Call(ctx, runners.ToolCall{Tool: args[0], Arguments: json.RawMessage(strings.Join(args[1:], ""))})
		if err != nil {
			return err
		}
		return printResult(r, asJSON)
	})
	call.Example = `  coderunner tools call --tools servers.json inner.list_files '{"session": "a"}'`
	call.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask about a tool that is not known to change nothing")
	cmd := &cobra.Command{Use: "tools", Short: "List and call the tools of other servers that programs may call"}
	cmd.AddCommand(
		list,
		do("search WORD...", "Find tools by words", cobra.MinimumNArgs(1), func(ctx context.Context, _ *tools.Set, t *tools.Tools, args []string) error {
			found, err := t.Search(ctx, strings.Join(args, " "))
			if err == nil {
				err = printTools(found, asJSON)
			}
			return err
		}),
		do("describe SERVER[.TOOL]", "Print a tool's parameters, an example and the shape of its result", cobra.ExactArgs(1), func(ctx context.Context, _ *tools.Set, t *tools.Tools, args []string) error {
			text, err := t.Describe(ctx, args[0])
			fmt.Print(shown(text))
			return err
		}),
		call,
		do("login SERVER", "Get a token for a server over HTTP that wants one (OAuth)", cobra.ExactArgs(1), func(ctx context.Context, set *tools.Set, _ *tools.Tools, args []string) error {
			err := set.Login(ctx, args[0], func(page string) {
				fmt.Fprintf(os.Stderr, "Open this page in a browser of this machine, and agree there:\n%s\n", shown(page))
			})
			if err == nil {
				fmt.Fprintf(os.Stderr, "coderunner has a token for %s\n", args[0])
			}
			return err
		}),
	)
	return cmd
}

// listTools prints the tools of servers, and then the first error of one.
func listTools(ctx context.Context, t *tools.Tools, servers []string, asJSON bool) error {
	all := []runners.Tool{}
	var errs []error
	for _, name := range servers {
		list, err := t.List(ctx, name)
		all, errs = append(all, list...), append(errs, err)
	}
	return errors.Join(printTools(all, asJSON), errors.Join(errs...))
}

func printTools(list []runners.Tool, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(list)
	}
	for _, t := range list {
		fmt.Printf("%-5s %s.%s  %s\n", t.Policy, t.Server, t.Name, shown(tools.Summary(t)))
	}
	return nil
}

// shown returns the words of a server for a terminal: without what would move its cursor.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, text)
}

func printResult(r *runners.ToolResult, asJSON bool) error {
	switch {
	case asJSON:
		return json.NewEncoder(os.Stdout).Encode(r)
	case r.Structured != nil:
		fmt.Printf("%s\n", r.Structured)
		return nil
	}
	for _, c := range r.Content {
		switch {
		case c.Type == "text" || c.Text != "":
			fmt.Println(c.Text)
		case c.Type == "resource_link":
			fmt.Printf("[%s: %s]\n", shown(c.Name), shown(c.URI))
		default:
			fmt.Printf("[%s, %s, %d bytes; --json prints them]\n", c.Type, shown(c.MIME), len(c.Data))
		}
	}
	return nil
}

// askAt returns what asks at the terminal, nil if there is none.
func askAt(yes bool) tools.AskFunc {
	if yes {
		return func(context.Context, tools.Question) (allow, always bool, err error) { return true, false, nil }
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	return func(_ context.Context, q tools.Question) (allow, always bool, err error) {
		fmt.Fprintf(os.Stderr, "Call %s.%s with %s? [y/N] ", q.Server, q.Tool, shown(q.Arguments))
		answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", false, err
	}
}
