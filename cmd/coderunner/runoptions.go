package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coderunner/runners"
)

// runOptions are the flags of run, of which lock takes some.
type runOptions struct {
	language string
	packages []string
	code     string // the program, in place of a file, as Python's -c has it
	eval     string // and as Node's -e
	json     bool
	locked   bool
	out      string // directory for files
	session  string
	record   string // file for HTTP exchanges
	replay   string // file with HTTP exchanges
	files    []string
	dirs     []string

	unlimited bool   // no --max-output was given
	isolated  bool   // the program sees what it imports, and what files and dirs name
	notSeen   string // what to print about a file that the program did not find
}

// addLanguage adds the flag --language to a command.
func addLanguage(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "language", "l", "", "`LANGUAGE` of the program: "+languageNames(allLanguages))
	_ = cmd.RegisterFlagCompletionFunc("language", cobra.FixedCompletions( // the flag is there
		languageCompletions(allLanguages), cobra.ShellCompDirectiveNoFileComp))
}

// addFiles adds the flags for a program's files to a command.
func addFiles(cmd *cobra.Command, o *runOptions) {
	cmd.Flags().StringArrayVar(&o.files, "file", nil, "`PATH` of a file for the program, also a hidden one; may be repeated")
	cmd.Flags().StringArrayVar(&o.dirs, "dir", nil, "`PATH` of a directory for the program, also an ignored one; may be repeated")
}

// needFile refuses a command line without a file, or with more than the command
// takes.
func needFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) > 1 && cmd.Name() != "run" {
		return fmt.Errorf("usage: %s", cmd.UseLine())
	}
	return nil
}

// allLanguages are those of run.
var allLanguages = slices.Concat(runners.Languages, runners.GuestLanguages)

// replLanguages are those that repl knows.
var replLanguages = []runners.Language{runners.Python, runners.TypeScript, runners.JavaScript, runners.Bash, runners.Ruby, runners.PHP, runners.QuickJS, runners.SQL}

// languageCompletions returns the names of languages.
func languageCompletions(languages []runners.Language) (names []cobra.Completion) {
	for _, l := range languages {
		names = append(names, string(l))
	}
	return names
}

// languageNames returns the names of languages for a sentence.
func languageNames(languages []runners.Language) string {
	last := len(languages) - 1
	return strings.Join(languageCompletions(languages[:last]), ", ") + " or " + string(languages[last])
}
