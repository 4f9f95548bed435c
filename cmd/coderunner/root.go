package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coderunner/internal/compiler"
	"coderunner/internal/trace"
	"coderunner/internal/userland/shell/quote"
)

// printUsage prints what cobra prints, without the settings, which every command
// takes: they have a page of their own. (A template of cobra's would link
// text/template, and with it every method in the binary.)
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprint(w, "Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\nCommands:\n")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", cmd.LocalNonPersistentFlags().FlagUsages())
	}
	_, err := fmt.Fprint(w, "\nLimits, permissions, cache and registries are settings of every command:\n  coderunner help settings\n")
	return err
}

// newRoot builds the command line. Without a command it serves.
func newRoot() *cobra.Command {
	var cfg Config
	root := &cobra.Command{
		Use:   "coderunner",
		Short: "Runs Python, JavaScript, TypeScript and bash programs in a sandbox",
		Long: "coderunner runs Python, JavaScript and TypeScript programs, with any package, and\n" +
			"bash scripts in a sandbox. Without a command it serves MCP over stdio, unless stdin is\n" +
			"a terminal.",
		Example:       "  coderunner run hello.py\n  coderunner repl\n  coderunner config cursor --write",
		Version:       ownVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	serve := newServe(&cfg)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if introduce() {
			return nil
		}
		return serve.RunE(cmd, args)
	}
	addFlags(root.PersistentFlags(), settings)
	addPermissionFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if cfg, err = readConfig(cmd.Flags()); err == nil && cfg.Trace != "" {
			err = trace.Start(cfg.Trace)
		}
		return err
	}
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(suggestFlag)
	root.AddCommand(serve, newRun(&cfg), newRepl(&cfg), newLock(&cfg), newWarm(&cfg), newBundle(&cfg), newDoctor(&cfg), newCache(&cfg), newSessions(&cfg), newTools(&cfg), newConfig(), newVersion(&cfg), newCompile(),
		newSettings(root.PersistentFlags()))
	root.InitDefaultCompletionCmd("completion") // so that it is there to be changed
	root.SetHelpCommand(newHelp())
	for _, group := range append(root.Commands(), root) {
		if group == root || group.HasSubCommands() {
			group.Args, group.SuggestionsMinimumDistance = suggestCommand, 2
		}
		if group.RunE == nil && group.Run == nil && group.HasSubCommands() { // which cobra would not ask for its arguments
			group.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// otherNames are what other tools call what our commands do, and what none of them
// is needed for.
var otherNames = map[string]string{
	"exec": "run", "eval": "run", "start": "run", "execute": "run", "test": "run",
	"python": "repl python", "python3": "repl python", "node": "repl javascript", "deno": "repl typescript", "ts": "repl typescript",
	"typescript": "repl typescript", "javascript": "repl javascript", "js": "repl javascript", "bash": "repl bash", "sh": "repl bash", "shell": "repl",
	"console": "repl", "interactive": "repl", "mcp": "serve", "server": "serve", "stdio": "serve", "setup": "config", "init": "config",
	"info": "doctor", "status": "doctor", "check": "doctor", "env": "help settings", "list": "cache list", "ls": "cache list", "clean": "cache clear",
	"clear": "cache clear", "fetch": "warm", "download": "warm", "session": "sessions",
}

// commandLine is what to type in a shell for arguments.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quote.IfNeeded(a)
	}
	return strings.Join(words, " ")
}

// suggestCommand refuses what is not a command, and names the one that was meant.
func suggestCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if _, err := os.Stat(args[0]); err == nil && !cmd.HasParent() {
		hint = "to run a program: coderunner run " + commandLine(args)
	} else if name := otherNames[args[0]]; name != "" && !cmd.HasParent() {
		hint = "did you mean " + name + "?"
	} else if slices.Contains([]string{"install", "add", "i", "pip", "npm", "uninstall", "remove"}, args[0]) && !cmd.HasParent() {
		hint = "packages are installed when a program imports them; coderunner warm PACKAGE fetches one ahead of time"
	} else if list := cmd.SuggestionsFor(args[0]); len(list) > 0 {
		hint = "did you mean " + strings.Join(list, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q; %s", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], "coderunner "), hint)
}

// newHelp is cobra's, but for what is not a command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", Hidden: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // it has no settings
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
			if at, _, err := cmd.Root().Find(args); err == nil {
				for _, c := range at.Commands() {
					if c.IsAvailableCommand() {
						list = append(list, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || at.HasSubCommands() && len(rest) > 0 {
				return suggestCommand(at, rest)
			}
			return at.Help()
		},
	}
}

// newSettings is a page of the help.
func newSettings(flags *pflag.FlagSet) *cobra.Command {
	cmd := &cobra.Command{Use: "settings", Short: "The settings of every command"}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "Every command takes these settings, as flags or from the environment; flags win.\n\n%s", flags.FlagUsages())
	})
	return cmd
}

// suggestFlag adds to the error of an unknown flag the one that was meant.
func suggestFlag(cmd *cobra.Command, err error) error {
	if module, ok := errors.AsType[moduleError](err); ok {
		return module
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names cobra.Command // which finds what is similar to the names of its commands
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	names.SuggestionsMinimumDistance = 2
	if list := names.SuggestionsFor(unknown.GetSpecifiedName()); len(list) > 0 && len(list) < 5 {
		return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(list, " or --"))
	}
	return fmt.Errorf("%w; %s --help lists them", err, cmd.CommandPath())
}

// newCompile is for package compiler, which starts this binary again.
func newCompile() *cobra.Command {
	return &cobra.Command{
		Use: compiler.Command, Hidden: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // it has no settings
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := compiler.Main(cmd.Context(), args, cmd.InOrStdin(), cmd.ErrOrStderr()); code != 0 {
				return &exitError{code}
			}
			return nil
		},
	}
}
