package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/cache/contents"
	"coderunner/internal/repl"
	"coderunner/internal/session"
	"coderunner/internal/tools"
	"coderunner/runners"
)

func newRepl(cfg *Config) *cobra.Command {
	var o replOptions
	var language string
	cmd := &cobra.Command{
		Use:   "repl [flags] [" + strings.Join(languageCompletions(replLanguages), "|") + "]",
		Short: "Read statements and run each in a session",
		Long: "Read statements from the terminal or stdin, run each in a session, and print its value.\n" +
			"Tab completes names, the arrows find earlier lines, Ctrl-C interrupts a statement,\n" +
			"Ctrl-D or exit ends. Images are shown where the terminal can (kitty, iTerm2, sixel),\n" +
			"and written to a file elsewhere.",
		Example:           "  coderunner repl\n  coderunner repl typescript --session analysis",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(languageCompletions(replLanguages), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, language)
			if o.language = runners.ParseLanguage(args[0]); !slices.Contains(replLanguages, o.language) {
				return fmt.Errorf("unknown language %q: use %s", args[0], languageNames(replLanguages))
			}
			return startRepl(cmd.Context(), *cfg, o)
		},
	}
	cmd.Flags().StringVarP(&language, "language", "l", "python", "`LANGUAGE` of the statements, as the argument")
	cmd.Flags().StringVar(&o.session, "session", "", "`NAME` of a session to go on with, which stays; without it there is one until the end")
	cmd.Flags().StringArrayVarP(&o.packages, "package", "p", nil, "a `REQUIREMENT` such as \"pydantic>=2\" or npm:zod@3; may be repeated")
	addFiles(cmd, &o.named)
	cmd.Flags().StringVar(&o.out, "out", ".", "`DIR` to write images to that the terminal cannot show")
	return cmd
}

// replOptions are the flags of repl.
type replOptions struct {
	language runners.Language
	session  string
	packages []string
	named    runOptions // whose files are the session's, too
	out      string
}

// statements is what the statements of a REPL are shown with.
type statements struct {
	replOptions
	store          *session.Store
	stdout, stderr *stream
}

// temporary is the name of the session of a repl that has no other.
const temporary = "repl"

func startRepl(ctx context.Context, cfg Config, o replOptions) (err error) {
	view, files, err := openProject(cfg, o.named, "", o.language, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	p := &statements{replOptions: o}
	p.stdout, p.stderr = openStreams(-1)
	removed := func() error { return nil }
	cfg.Ahead = 1
	cfg.Overrun = func(memory bool) {
		out := overrun(memory, cfg.Limits)
		p.stderr.printLine(endText(out, cfg.Limits, ""))
		_ = removed()
		os.Exit(exitCode(out))
	}
	b, err := cfg.open(o.language, newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	set, err := cfg.openTools(newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	defer set.Close()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // see run
	if o.session == "" {
		p.session = temporary
		if cfg.SessionDir, err = os.MkdirTemp("", "coderunner-repl-"); err != nil {
			return fmt.Errorf("make a temporary session: %w", err)
		}
		removed = func() error { return os.RemoveAll(cfg.SessionDir) }
		defer func() { err = errors.Join(err, removed()) }()
	}
	if p.store, err = cfg.OpenSessions(b.Cache, session.Options{Command: true, Log: newLogger(zap.WarnLevel)}); err != nil {
		return err
	}
	typed := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	if typed {
		defer onSignal(func(s syscall.Signal) bool { return s == syscall.SIGINT })() // between statements, too
		fmt.Fprintf(os.Stderr, "coderunner %s, %s. Ctrl-D or exit ends.\n", ownVersion(), o.language)
	}
	err = repl.Run(ctx, repl.Config{
		Language: o.language, Runner: b.Runners[o.language], Store: p.store, Session: p.session, Packages: o.packages, Limits: cfg.Limits,
		Terminal: typed, Stdout: repl.Stream{Writer: p.stdout, Line: p.stdout.printLine}, Stderr: repl.Stream{Writer: p.stderr, Line: p.stderr.printLine},
		Progress: withTools(set, o.session), Interrupts: p.interrupts, Save: p.save,
		Explain: func(out *runners.Outcome) string { return endText(out, cfg.Limits, missedLine(view)) },
		Describe: func(f runners.LeftFile) string {
			return fmt.Sprintf("%s (%s)", contents.Printable(f.Path), contents.Size(f.Size))
		},
		Project: view, Files: files,
	})
	if exit, ok := errors.AsType[*repl.Exit](err); ok && exit.Code == 0 {
		return nil
	} else if ok {
		return &exitError{exit.Code}
	}
	if brokenPipe(err) {
		return &exitError{128 + int(syscall.SIGPIPE)}
	}
	return err
}

// interrupts has a first Ctrl-C be the program's, if it gets signals, and the next one
// end the statement.
func (p *statements) interrupts(cancel func()) repl.Interrupts {
	first := &firstSignal{shown: []*stream{p.stdout, p.stderr}}
	restore := onSignal(func(s syscall.Signal) bool {
		if s == syscall.SIGINT && !first.take(s) {
			cancel()
		}
		return s == syscall.SIGINT
	})
	return repl.Interrupts{Signals: &first.Signals, Quiet: first.wordless, Restore: restore}
}

// withTools returns what shows the progress of a statement, and gives it the tools of other
// servers, if there are any.
func withTools(set *tools.Set, session string) func(*runners.Request) (done func()) {
	return func(req *runners.Request) (done func()) {
		if set != nil {
			req.Tools = set.For(tools.Run{Client: "command", Session: session})
		}
		return showProgress(req)
	}
}

// save writes an image into the directory of --out, unless there is a file of the name.
func (p *statements) save(n int, d runners.Display) (bool, error) {
	name := fmt.Sprintf("display-%d%s", n, runners.Extension(d.MIME))
	if _, err := os.Lstat(p.out + "/" + name); err == nil {
		return false, nil
	}
	return true, writeFiles(p.out, p.stderr, []runners.LeftFile{{Path: name, MIME: d.MIME, Size: int64(len(d.Data)), Data: d.Data}})
}
