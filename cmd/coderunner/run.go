package main

import (
	"context"
	"encoding/json"
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

	"coderunner/internal/backend"
	"coderunner/internal/session"
	"coderunner/internal/tools"
	"coderunner/internal/trace"
	"coderunner/runners"
)

func newRun(cfg *Config) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] FILE|-|-c CODE [ARG]...",
		Short: "Run one program as the tool would",
		Long: "Run one program as the tool would. The language is known by FILE's ending, its #!\n" +
			"line or its text. The program's output is printed as it comes, then the value of its\n" +
			"last expression; its stdin is ours. The exit code is the program's; 124 means that a\n" +
			"limit ended it, 125 that it could not be run, or waits for consent to calls of tools.\n" +
			"Ctrl-C is the program's; one that does nothing about it ends with 130, and a second\n" +
			"Ctrl-C ends any.\n\n" +
			"The program sees the current directory if FILE is below it or it has none, else the\n" +
			"directory of FILE: everything but hidden files, what version control ignores, and\n" +
			"node_modules, .venv and their like. It may change what it sees; the changes are its\n" +
			"own until --out DIR takes them.",
		Example: "  coderunner run --timeout 2m --package 'pydantic>=2' report.py 2026-11\n" +
			"  coderunner run --allow-net=api.example.com fetch.py\n" +
			"  coderunner run -c 'console.log(6 * 7)'",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.code != "" && o.eval != "" {
				return errors.New("-c and -e each have a program: put both texts into one")
			}
			if o.code+o.eval != "" || len(args) == 0 && !term.IsTerminal(int(os.Stdin.Fd())) {
				return nil
			}
			return needFile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f := cmd.Flags().Lookup("max-output"); f == nil || !f.Changed {
				o.unlimited = true
			}
			with := *cfg
			with.Record, with.Replay = o.record, o.replay
			switch {
			case o.code+o.eval != "":
				return run(cmd.Context(), with, o, "", args)
			case len(args) == 0: // and stdin is no terminal
				return run(cmd.Context(), with, o, "-", nil)
			}
			return run(cmd.Context(), with, o, args[0], args[1:])
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows FILE is the program's
	addLanguage(cmd, &o.language)
	cmd.Flags().VarP((*onceValue)(&o.code), "code", "c", "`CODE` of the program, instead of a file")
	cmd.Flags().VarP((*onceValue)(&o.eval), "eval", "e", "`CODE` of the program, as Node calls it")
	cmd.Flags().VarP(moduleFlag{}, "module", "m", "as Python's")
	_, _ = cmd.Flags().MarkHidden("eval"), cmd.Flags().MarkHidden("module") // the flags are there
	cmd.Flags().StringArrayVarP(&o.packages, "package", "p", nil, "a `REQUIREMENT` such as \"pydantic>=2\" or npm:zod@3; may be repeated")
	cmd.Flags().BoolVar(&o.locked, "locked", false, `refuse packages that are not in the program's lock (see "coderunner lock")`)
	addFiles(cmd, &o)
	cmd.Flags().BoolVar(&o.isolated, "isolated", false, "show the program only FILE, what that imports, and what --file and --dir name")
	cmd.Flags().StringVar(&o.out, "out", "", "`DIR` to write the program's files, plots and images to")
	cmd.Flags().StringVar(&o.session, "session", "", "`NAME` of a session to go on in, with the variables and files of its earlier programs")
	cmd.Flags().StringVar(&o.record, "record", "", "`FILE` to write the program's HTTP exchanges and calls of tools to (HAR)")
	cmd.Flags().StringVar(&o.replay, "replay", "", "`FILE` to answer the program's HTTP requests and calls of tools from, without a network")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the outcome as JSON instead")
	return cmd
}

// onceValue is the value of a flag that nothing may replace.
type onceValue string

func (v *onceValue) Set(text string) error {
	if *v != "" {
		return errors.New("it is given twice: put both texts into one, with a newline between them")
	}
	*v = onceValue(text)
	return nil
}

func (v *onceValue) String() string { return string(*v) }
func (v *onceValue) Type() string   { return "string" }

func run(ctx context.Context, cfg Config, o runOptions, file string, args []string) error {
	read := trace.Begin("read the program")
	req, cells, err := newRequest(ctx, cfg, o, file, args)
	read()
	if err != nil {
		return err
	}
	defer req.Project.Close()
	req.Locked = o.locked
	limit := cfg.Limits.Output
	if o.unlimited {
		limit = -1
	}
	stdout, stderr := openStreams(limit)
	if !o.json {
		req.Stdout, req.Stderr = stdout, stderr
	}
	// A reader of our output that has gone is an error of Write, not the end of
	// this process before what it started.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	first := firstSignal{shown: []*stream{stdout, stderr}}
	req.Signals = &first.Signals
	defer onSignal(first.take)()
	cfg.Leaving = true
	cfg.Overrun = func(memory bool) {
		out := overrun(memory, cfg.Limits)
		_ = o.show(out, cfg.Limits, &first, stdout, stderr)
		os.Exit(exitCode(out))
	}
	open := trace.Begin("open the runner")
	b, err := cfg.open(req.Language, newLogger(zap.WarnLevel))
	open()
	if err != nil {
		return err
	}
	running := trace.Begin("run")
	out, err := runIn(ctx, b, cfg, o.session, req)
	running()
	closing := trace.Begin("close the runner")
	err = errors.Join(err, b.Close(), b.SaveRecording())
	if closing(); err != nil {
		return err
	}
	cells.Locate(req.Filename, out.Error)
	o.notSeen = missedLine(req.Project)
	if o.json && out.Note == "" {
		out.Note = strings.TrimSpace(strings.TrimPrefix(o.notSeen, "coderunner: "))
	}
	if req.Language == runners.Bash && !o.json && out.Error != nil && out.Error.Type == "SyntaxError" {
		out.Error = nil // the shell has printed its own
	}
	for i, f := range out.Files { // as the program names them
		if rel, ok := strings.CutPrefix(f.Path, req.Project.Dir+"/"); ok {
			out.Files[i].Path = rel
		}
	}
	return o.show(out, cfg.Limits, &first, stdout, stderr)
}

// overrun is the outcome of a program that does not stop at its limits, and ends with this process.
func overrun(memory bool, limits runners.Limits) *runners.Outcome {
	out := &runners.Outcome{Status: runners.TimedOut, ExitCode: 128 + int(syscall.SIGKILL), Packages: []runners.Package{},
		Error: &runners.Error{Type: "Timeout", Message: "the program did not stop when it was told to, and was ended with its process"}}
	if memory {
		out.Status, out.Error = runners.OutOfMemory, limits.WithDefaults().Exceeded(runners.OutOfMemory)
	}
	return out
}

// show prints what is left to print of an outcome, and returns the error that has its
// exit code.
func (o runOptions) show(out *runners.Outcome, limits runners.Limits, first *firstSignal, stdout, stderr *stream) (err error) {
	if first.wordless(out) {
		out.Error = nil
	}
	if o.json {
		err = json.NewEncoder(os.Stdout).Encode(out)
	} else {
		err = printEnd(stdout, stderr, out, limits, o.notSeen)
	}
	if brokenPipe(err) {
		return &exitError{128 + int(syscall.SIGPIPE)}
	}
	if err != nil {
		return fmt.Errorf("print the outcome: %w", err)
	}
	if !o.json || o.out != "" {
		if err := takeOut(o.out, os.Stdout, os.Stderr, out); err != nil {
			return err
		}
	}
	if first.ended(out) && out.ExitCode == 128+int(syscall.SIGINT) && atTerminal() {
		if stderr.inLine.Load() {
			fmt.Fprintln(os.Stderr)
		}
		interrupted()
	}
	if code := exitCode(out); code != 0 {
		return &exitError{code}
	}
	return nil
}

// runIn runs the program in the session, if it has a name. With tools of other servers, the
// session's program waits for consent: there is nobody to ask, since stdin is the program's.
func runIn(ctx context.Context, b *backend.Backend, cfg Config, name string, req runners.Request) (*runners.Outcome, error) {
	set, err := cfg.openTools(newLogger(zap.WarnLevel))
	if err != nil {
		return nil, err
	}
	defer set.Close()
	run := func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		return runWithTools(ctx, b, set, name, req)
	}
	if name == "" {
		return run(ctx, req)
	}
	if set != nil {
		run = tools.Pausable(nil, run)
	}
	store, err := cfg.OpenSessions(b.Cache, session.Options{Command: true, Log: newLogger(zap.WarnLevel)})
	if err != nil {
		return nil, err
	}
	return store.Run(ctx, session.Call{Session: name, Request: req}, run)
}

// runWithTools runs the program with the tools of other servers, if there are any.
func runWithTools(ctx context.Context, b *backend.Backend, set *tools.Set, session string, req runners.Request) (out *runners.Outcome, err error) {
	var t *tools.Tools
	if set != nil {
		t = set.For(tools.Run{Client: "command", Session: session, Pause: tools.PauseFrom(ctx)})
		req.Tools = t
	}
	if req.Tools, err = b.Tools(req.Tools); err != nil {
		return nil, err
	}
	r := b.Runners[req.Language]
	switch {
	case r != nil:
	case slices.Contains(runners.GuestLanguages, req.Language):
		return nil, fmt.Errorf("%s is not among the languages of CODE_RUNNER_LANGUAGES (--languages)", req.Language)
	default:
		return nil, fmt.Errorf("%s programs need the host's interpreter: --host-languages %s allows it", req.Language, req.Language)
	}
	defer showProgress(&req)()
	if out, err = r.Run(ctx, req); err != nil {
		return nil, err
	}
	if t != nil {
		out.Usage.ToolCalls = t.Calls()
	}
	if out.Packages == nil {
		out.Packages = []runners.Package{}
	}
	runners.ExplainLanguage(req, out)
	return out, nil
}
