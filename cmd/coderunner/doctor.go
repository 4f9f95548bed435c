package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"coderunner/internal/doctor"
)

func newDoctor(cfg *Config) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what works, what does not and what to do",
		Long:  "Show what works, what does not and what to do. Nothing is fetched but one small\ndocument from each registry.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			r := doctor.Examine(cmd.Context(), cfg.Config, doctor.Packages{NPM: npmPackage, PyPI: pypiPackage, Image: image})
			if asJSON {
				err = printJSON(os.Stdout, r)
			} else {
				printChecks(os.Stdout, r.Checks)
			}
			if err == nil && !r.OK {
				err = &exitError{1}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// printChecks prints findings for a person, and then what to do about them.
func printChecks(w io.Writer, checks []doctor.Check) {
	for _, c := range checks {
		switch {
		case c.Status != doctor.Fact:
			fmt.Fprintf(w, "%-4s  %s: %s\n", c.Status, c.Name, c.Detail)
		case c.Detail != "":
			fmt.Fprintf(w, "      %s %s\n", c.Name, c.Detail)
		case c.Name != "":
			fmt.Fprintf(w, "      %s\n", c.Name)
		}
	}
	for _, c := range checks {
		if c.Fix != "" {
			fmt.Fprintf(w, "hint: %s\n", c.Fix)
		}
	}
}
