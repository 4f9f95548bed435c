package main

import (
	"github.com/spf13/cobra"

	"coderunner/internal/compiler"
)

// newRoot builds the command line. Without a command it serves.
func newRoot() *cobra.Command {
	var cfg Config
	root := &cobra.Command{
		Use:   "coderunner",
		Short: "Runs Python, JavaScript and TypeScript programs in a sandbox",
		Long: "coderunner runs Python, JavaScript and TypeScript programs, with any package,\n" +
			"in a sandbox. Without a command it serves MCP over stdio.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	serve := newServe(&cfg)
	root.RunE = serve.RunE
	addSettings(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		cfg, err = readConfig(cmd.Flags())
		return err
	}
	root.AddCommand(serve, newRun(&cfg), newLock(&cfg), newWarm(&cfg), newDoctor(&cfg), newCache(&cfg), newVersion(&cfg), newCompile())
	return root
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
