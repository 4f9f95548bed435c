package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coderunner/internal/clients"
	"coderunner/internal/testcache"
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeNames compares what the documents say with what there is: commands, flags,
// variables and clients, in both directions.
func TestReadmeNames(t *testing.T) {
	readme := readDocument(t, "README.md")
	has := func(kind, name string) {
		if !regexp.MustCompile("(^|[^\\w-])" + regexp.QuoteMeta(name) + "([^\\w-]|$)").MatchString(readme) {
			t.Errorf("README.md lacks the %s %s", kind, name)
		}
	}
	for _, name := range clients.Names() {
		has("client", name)
	}
	variables := []string{"CODE_RUNNER_HTTP_TOKEN"}
	for _, s := range settings {
		has("variable", s.env)
		variables = append(variables, s.env)
	}
	for _, s := range httpSettings { // serve --help lists them
		variables = append(variables, s.env)
	}
	var commands, flags []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		if !cmd.HasParent() || cmd.IsAvailableCommand() && cmd.Name() != "completion" {
			commands = append(commands, cmd.Name())
			has("command", cmd.Name())
			for _, c := range cmd.Commands() {
				visit(c)
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && cmd.Name() != "serve" && f.Shorthand == "" {
					has("flag", "--"+f.Name)
				}
			})
		}
	}
	visit(newRoot())
	for _, name := range []string{"README.md", "docs/limits.md", "SECURITY.md"} {
		text := readDocument(t, name)
		for _, v := range regexp.MustCompile(`\bCODE_RUNNER_[A-Z_]+\b`).FindAllString(text, -1) {
			if !slices.Contains(variables, v) {
				t.Errorf("%s: %s is no variable of ours", name, v)
			}
		}
		for _, code := range regexp.MustCompile("`(?:coderunner |run |--)[^`\n]*`").FindAllString(text, -1) {
			for _, f := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(code, -1) {
				if !slices.Contains(flags, f) && f != "--help" && f != "--deny-" {
					t.Errorf("%s: %s is no flag: %s", name, f, code)
				}
			}
		}
		for _, c := range regexp.MustCompile("`coderunner ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(commands, c[1]) && c[1] != "help" {
				t.Errorf("%s: %s is no command", name, c[1])
			}
		}
	}
}

// TestReadmeCommands runs the commands that README.md shows with what they print.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	_, shown, _ := strings.Cut(readDocument(t, "README.md"), "```console\n$ ")
	shown, _, _ = strings.Cut(shown, "```")
	commands := strings.Split(shown, "\n$ ")
	if len(commands) < 3 {
		t.Fatalf("README.md shows %q", commands)
	}
	for _, c := range commands {
		command, want, _ := strings.Cut(strings.TrimSuffix(c, "\n"), "\n")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir())
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nREADME.md shows\n%s", command, err, got, want)
		}
	}
}
