package main

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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

// documents are those for users.
var documents = []string{"README.md", "SECURITY.md", "docs/install.md", "docs/tool.md", "docs/tools.md", "docs/cli.md", "docs/settings.md", "docs/embedding.md", "docs/limits.md", "docs/architecture.md", "docs/contributing.md"}

// TestReadmeNames compares what the documents say with what there is: commands, flags,
// variables and clients, in both directions.
func TestReadmeNames(t *testing.T) {
	var all strings.Builder
	for _, name := range documents {
		all.WriteString(readDocument(t, name))
	}
	has := func(kind, name string) {
		if !regexp.MustCompile("(^|[^\\w-])" + regexp.QuoteMeta(name) + "([^\\w-]|$)").MatchString(all.String()) {
			t.Errorf("the documents lack the %s %s", kind, name)
		}
	}
	for _, name := range clients.Names() {
		has("client", name)
	}
	var commands, flags, variables []string
	note := func(f *pflag.Flag) {
		flags = append(flags, "--"+f.Name)
		if v := settingOf(f); v != "" {
			variables = append(variables, v)
		}
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
		if !cmd.HasParent() || cmd.IsAvailableCommand() && cmd.Name() != "completion" {
			commands = append(commands, cmd.Name())
			has("command", cmd.Name())
			for _, c := range cmd.Commands() {
				visit(c)
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Shorthand == "" {
					has("flag", "--"+f.Name)
				}
			})
		}
	}
	visit(newRoot())
	for _, v := range variables {
		has("variable", v)
	}
	variables = append(variables, "CODE_RUNNER_HTTP_TOKEN")
	for _, v := range []string{"CODE_RUNNER_INSTALL_DIR", "CODE_RUNNER_DOWNLOADS"} { // the installers'
		if variables = append(variables, v); !strings.Contains(readDocument(t, "cmd/release/templates/install.sh"), v) {
			t.Errorf("install.sh has no %s", v)
		}
	}
	for _, name := range documents {
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

// TestReadmeIsShort has what more there is to say in docs.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(readDocument(t, "README.md"), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want at most 120", n)
	}
}

// TestReadmeLinks wants what the documents' links name to be there.
func TestReadmeLinks(t *testing.T) {
	for _, name := range documents {
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)(?:#([^)]+))?\)`).FindAllStringSubmatch(readDocument(t, name), -1) {
			to := path.Join(path.Dir(name), m[1])
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if m[2] != "" && !slices.Contains(anchors(readDocument(t, to)), m[2]) {
				t.Errorf("%s: %s has no heading %q", name, to, m[2])
			}
		}
	}
}

// anchors returns the names of a page's headings.
func anchors(page string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile("[^\\w -]").ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestReadmeCommands runs the commands that the documents show with what they print.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	ran := map[string]bool{}
	for _, name := range documents {
		for _, shown := range regexp.MustCompile("(?s)```console\n\\$ (.*?)```").FindAllStringSubmatch(readDocument(t, name), -1) {
			for c := range strings.SplitSeq(shown[1], "\n$ ") {
				command, want, _ := strings.Cut(strings.TrimSuffix(c, "\n"), "\n")
				if ran[c] {
					continue
				}
				ran[c] = true
				run := func() ([]byte, error) {
					cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
					cmd.Dir = "../.."
					cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir(), "CODE_RUNNER_SESSION_DIR="+t.TempDir())
					return cmd.CombinedOutput()
				}
				out, err := run()
				if strings.Contains(string(out), "Fetched for the first time") {
					out, err = run()
				}
				if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != want {
					t.Errorf("%s: %v\n%s\n%s shows\n%s", command, err, got, name, want)
				}
			}
		}
	}
	if len(ran) < 3 {
		t.Fatalf("the documents show %q", slices.Collect(maps.Keys(ran)))
	}
}

// TestExamples wants the examples of the help to be lines of the scripts, which run them.
func TestExamples(t *testing.T) {
	var scripts strings.Builder
	names, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			example := strings.TrimSpace(line)
			if !strings.Contains(scripts.String(), "\nexec "+example) && cmd.Name() != "serve" { // which TestServeHTTP starts
				t.Errorf("no script has %q", example)
			}
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
}

// TestNamesAreTested wants each flag, or the variable that it stands for, in a test that
// starts the real binary: a script, or one of Go's here or in package hostile.
func TestNamesAreTested(t *testing.T) {
	var tests strings.Builder
	for _, pattern := range []string{"testdata/*/*.txtar", "*_test.go", "../../internal/hostile/*_test.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || names == nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	named := func(name string) bool {
		return name != "" && regexp.MustCompile(regexp.QuoteMeta(name)+`\b`).MatchString(tests.String())
	}
	seen := map[string]bool{"help": true}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && !seen[f.Name] && !named("--"+f.Name) && !named(settingOf(f)) && (f.Shorthand == "" || !named(cmd.Name()+" -"+f.Shorthand)) {
					t.Errorf("no test has --%s of %s", f.Name, cmd.CommandPath())
				}
				seen[f.Name] = true
			})
		}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "completion" {
				visit(c)
			}
		}
	}
	visit(newRoot())
}
