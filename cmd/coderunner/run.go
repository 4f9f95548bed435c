package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/runners"
)

const (
	// codeOurFault is the exit code when the program could not be run.
	codeOurFault = 125

	// quietPreparation is how long a preparation prints nothing where stderr is
	// not a terminal: most runs prepare nothing, and stderr is the program's.
	quietPreparation = 5 * time.Second
)

type runOptions struct {
	language string
	packages []string
	json     bool
	locked   bool
	out      string // directory for files
}

func newRun(cfg *Config) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] FILE|- [ARG]...",
		Short: "Run one program as the tool would",
		Long: "Run one program as the tool would. The language is known by FILE's ending. What is\n" +
			"piped in is the program's stdin. Its stdout and stderr and the value of its last\n" +
			"expression are printed when it has ended. The exit code is the program's; 124 means\n" +
			"that a limit ended it, 125 that it could not be run.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), *cfg, o, args[0], args[1:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows FILE is the program's
	cmd.Flags().StringVarP(&o.language, "language", "l", "", "python, javascript or typescript")
	cmd.Flags().StringArrayVarP(&o.packages, "package", "p", nil, `a requirement such as "pydantic>=2" or npm:zod@3; may be repeated`)
	cmd.Flags().BoolVar(&o.locked, "locked", false, `refuse packages that are not in the program's lock (see "coderunner lock")`)
	cmd.Flags().StringVar(&o.out, "out", "", "directory to write the program's files, plots and images to")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the outcome as JSON instead")
	return cmd
}

func run(ctx context.Context, cfg Config, o runOptions, file string, args []string) error {
	req, err := newRequest(cfg, o, file, args)
	if err != nil {
		return err
	}
	req.Locked = o.locked
	b, err := openBackend(cfg, req.Language, 0, newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	out, err := runOn(ctx, b, req)
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	if o.json {
		err = json.NewEncoder(os.Stdout).Encode(out)
	} else {
		err = printOutcome(os.Stdout, os.Stderr, out, cfg.Limits)
	}
	if err != nil {
		return fmt.Errorf("print outcome: %w", err)
	}
	if !o.json || o.out != "" {
		if err := takeOut(o.out, os.Stdout, os.Stderr, out); err != nil {
			return err
		}
	}
	if code := out.CommandExitCode(); code != 0 {
		return &exitError{code}
	}
	return nil
}

func runOn(ctx context.Context, b *backend, req runners.Request) (*runners.Outcome, error) {
	r := b.languages()[req.Language]
	if r == nil {
		return nil, fmt.Errorf("run %s: this build has no runner for it", req.Language)
	}
	defer showProgress(&req)()
	out, err := r.Run(ctx, req)
	if err != nil {
		return nil, err
	}
	if out.Packages == nil {
		out.Packages = []runners.Package{}
	}
	runners.ExplainLanguage(req, out)
	return out, nil
}

// showProgress shows the preparation on stderr until done is called.
func showProgress(req *runners.Request) (done func()) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p := newBar(os.Stderr)
		req.Progress = p.report
		return p.clear
	}
	req.Progress = newLines(os.Stderr, quietPreparation).report
	return func() {}
}

func newRequest(cfg Config, o runOptions, file string, args []string) (runners.Request, error) {
	req := runners.Request{Packages: o.packages, Args: args, Limits: cfg.Limits}
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return req, err
		}
		defer f.Close()
		in = f
		req.Filename = filepath.Base(file)
	}
	code, err := io.ReadAll(io.LimitReader(in, runners.MaxCode+1)) // Run refuses what is longer
	if err != nil {
		return req, fmt.Errorf("read %s: %w", file, err)
	}
	req.Code = string(code)
	if req.Language, err = languageOf(o.language, file, req.Code); err != nil {
		if slices.ContainsFunc(args, isLanguageFlag) {
			err = fmt.Errorf("%s: put --language before it: what follows is the program's", file)
		}
		return req, err
	}
	if file != "-" {
		req.Stdin = programStdin(os.Stdin)
	}
	return req, nil
}

// languageOf returns the language of --language, or else of the file's name, or
// else the one that the program's text shows.
func languageOf(asked, file, code string) (runners.Language, error) {
	l := runners.ParseLanguage(asked)
	switch {
	case l != "":
		return l, nil
	case asked != "":
		return "", fmt.Errorf("--language %q: want python, javascript or typescript", asked)
	}
	if l = runners.ParseLanguage(strings.TrimPrefix(filepath.Ext(file), ".")); l == "" {
		l = runners.Detect(code)
	}
	if l == "" {
		return "", fmt.Errorf("%s: neither the name nor the text shows the language: use --language", file)
	}
	return l, nil
}

func isLanguageFlag(arg string) bool {
	return arg == "-l" || arg == "--language" || strings.HasPrefix(arg, "--language=")
}

// programStdin returns what the program reads as its standard input: ours, but
// nothing if that is closed or a terminal. A prompt would be shown only when
// the program has ended, and what is typed meanwhile is meant for the shell.
func programStdin(stdin *os.File) io.Reader {
	if _, err := stdin.Stat(); err != nil || term.IsTerminal(int(stdin.Fd())) {
		return nil
	}
	return stdin
}

// printOutcome prints what the program printed, its last expression's value
// and why it ended, if not well.
func printOutcome(stdout, stderr io.Writer, out *runners.Outcome, limits runners.Limits) error {
	if _, err := io.WriteString(stdout, out.Stdout); err != nil {
		return err
	}
	if out.Result != nil {
		if out.Stdout != "" && !strings.HasSuffix(out.Stdout, "\n") {
			fmt.Fprintln(stdout)
		}
		if _, err := fmt.Fprintln(stdout, out.Result.Text); err != nil {
			return err
		}
	}
	text := out.Stderr
	if e := out.Error; e != nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if e.Traceback != "" {
			text += strings.TrimRight(e.Traceback, "\n") + "\n"
			if out.Status == runners.Failed && !strings.Contains(e.Traceback, e.Message) {
				text += e.Type + ": " + e.Message + "\n" // it has more, such as which permission is missing
			}
		} else {
			text += e.Type + ": " + e.Message + "\n"
		}
		for _, p := range e.Packages {
			text += "  " + p.Name + ": " + p.Reason + "\n"
		}
	}
	switch out.Status {
	case runners.TimedOut:
		text += fmt.Sprintf("coderunner: timed out after %s (--timeout)\n", limits.Timeout)
	case runners.OutOfMemory:
		text += fmt.Sprintf("coderunner: out of memory, the limit is %d MiB (--memory)\n", limits.Memory>>20)
	case runners.OutputLimit:
		if out.Error != nil && out.Error.Type != "OutputLimit" {
			break // the message has it all
		}
		text += fmt.Sprintf("coderunner: stopped after %d bytes of output (--max-output)\n", limits.Output*runners.FloodFactor)
	}
	_, err := io.WriteString(stderr, text)
	return err
}
