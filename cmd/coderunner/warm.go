package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"coderunner/runners"
)

func newWarm(cfg *Config) *cobra.Command {
	return &cobra.Command{
		Use:   "warm [PACKAGE]...",
		Short: "Fetch and prepare the runtimes and packages ahead of time",
		Long: "Fetch and prepare the runtimes and packages ahead of time. Packages that begin\n" +
			"with npm: or jsr: are for JavaScript and TypeScript, the others for Python.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return warm(cmd.Context(), *cfg, args)
		},
	}
}

func warm(ctx context.Context, cfg Config, packages []string) error {
	b, err := cfg.open("", newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	report, done := openProgress(0)
	forDeno, forPython := splitPackages(packages)
	var errs []error
	for _, part := range []struct {
		name     string
		runner   runners.Runner
		packages []string
	}{{"deno", b.Runners[runners.JavaScript], forDeno}, {"python", b.Runners[runners.Python], forPython}} {
		err := part.runner.Warm(ctx, part.packages, report)
		done()
		if err != nil {
			errs = append(errs, fmt.Errorf("warm %s: %w", part.name, err))
			continue
		}
		fmt.Fprintf(os.Stderr, "%s is ready\n", part.name)
	}
	return errors.Join(append(errs, b.Close())...)
}

// splitPackages splits the packages by language family.
func splitPackages(packages []string) (forDeno, forPython []string) {
	for _, p := range packages {
		if strings.HasPrefix(p, "npm:") || strings.HasPrefix(p, "jsr:") {
			forDeno = append(forDeno, p)
		} else {
			forPython = append(forPython, p)
		}
	}
	return forDeno, forPython
}
