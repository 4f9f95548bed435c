package main

import (
	"github.com/spf13/cobra"
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
	root.AddCommand(serve, newRun(&cfg), newLock(&cfg), newWarm(&cfg), newDoctor(&cfg), newCache(&cfg), newVersion(&cfg))
	return root
}
