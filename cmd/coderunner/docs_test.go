package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the generated parts of docs anew")

// TestGeneratedPages compares what docs/cli.md and docs/settings.md say with the
// commands and flags that there are. The rest of these pages is written by hand.
func TestGeneratedPages(t *testing.T) {
	root := newRoot()
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "docs/cli.md", "commands", commandsPage(root))
	generated(t, "docs/settings.md", "settings", settingsTable(root.PersistentFlags()))
	generated(t, "docs/settings.md", "serve", settingsTable(serve.LocalNonPersistentFlags()))
}

// generated compares the part of a page between two comments, or writes it.
func generated(t *testing.T, page, part, want string) {
	t.Helper()
	text := readDocument(t, page)
	begin, end := fmt.Sprintf("<!-- generated: %s (just docs) -->\n", part), "<!-- end -->"
	before, rest, ok := strings.Cut(text, begin)
	got, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Errorf("%s lacks %q and %q", page, begin, end)
	case got == want:
	case *update:
		if err := os.WriteFile("../../"+page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the commands' help has; just docs writes it anew", page)
	}
}

// commandsPage has a section for each command that help lists.
func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		fmt.Fprintf(&b, "\n%s `%s`\n\n%s\n", strings.Repeat("#", 2+strings.Count(cmd.CommandPath(), " ")/2), cmd.CommandPath(), prose(cmd))
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", cmd.UseLine())
		if cmd.HasExample() {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", regexp.MustCompile(`(?m)^ +`).ReplaceAllString(cmd.Example, ""))
		}
		var rows strings.Builder
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || settingOf(f) != "" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
				usage += " (default " + f.DefValue + ")"
			}
			name := "--" + f.Name
			if value != "" {
				name += " " + value
			}
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			fmt.Fprintf(&rows, "| `%s` | %s |\n", name, cell(usage))
		})
		if rows.Len() > 0 {
			fmt.Fprintf(&b, "\n| flag | |\n|---|---|\n%s", &rows)
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "completion" {
				visit(c)
			}
		}
	}
	visit(root)
	return b.String() + "\n"
}

func prose(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short + "."
}

// settingOf returns the variable that a flag stands for, if any: its usage ends
// in it.
func settingOf(f *pflag.Flag) string {
	if m := regexp.MustCompile(`\[([A-Z_]+)\]$`).FindStringSubmatch(f.Usage); m != nil {
		return m[1]
	}
	return ""
}

// settingsTable has a row for each setting among flags.
func settingsTable(flags *pflag.FlagSet) string {
	rows := "| variable | flag | meaning |\n|---|---|---|\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if env := settingOf(f); env != "" {
			_, usage := pflag.UnquoteUsage(f)
			rows += fmt.Sprintf("| `%s` | `--%s` | %s |\n", env, f.Name, cell(strings.TrimSuffix(usage, " ["+env+"]")))
		}
	})
	return rows
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
