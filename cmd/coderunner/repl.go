package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/term"

	"coderunner/internal/session"
	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/deno"
)

func newRepl(cfg *Config) *cobra.Command {
	var o replOptions
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
			o.language = runners.Python
			if len(args) > 0 {
				if o.language = runners.ParseLanguage(args[0]); !slices.Contains(replLanguages, o.language) {
					return fmt.Errorf("unknown language %q: use %s", args[0], languageNames(replLanguages))
				}
			}
			return startRepl(cmd.Context(), *cfg, o)
		},
	}
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
	named    runOptions // whose files are those of the session
	out      string
}

// repl reads statements and runs them.
type repl struct {
	replOptions
	cfg            Config
	store          *session.Store
	runner         runners.Runner
	in             lineReader
	stdout, stderr *stream
	images         func(mime string, data []byte) (string, bool) // as the terminal shows them
	shown          int                                           // images written to files
	names          []string                                      // of the session's variables
	given          map[string]bool                               // the paths of files that the session was given
}

// lineReader reads lines. Its errors are io.EOF and errInterrupted.
type lineReader interface {
	line(more bool) (string, error)         // more: a statement goes on
	pasting() bool                          // the lines that follow are of the same text
	during() (stdin io.Reader, give func()) // a statement runs
	colours() bool                          // errors may have one
	Close() error
}

var errInterrupted = errors.New("interrupted")

// temporary is the name of the session of a repl that has no other.
const temporary = "repl"

func startRepl(ctx context.Context, cfg Config, o replOptions) (err error) {
	cfg.Ahead = 1
	b, err := cfg.open(o.language, newLogger(zap.WarnLevel))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	p := &repl{replOptions: o, cfg: cfg, runner: b.Runners[o.language]}
	p.stdout, p.stderr = openStreams(-1)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // see run
	if o.session == "" {
		p.session = temporary
		if cfg.SessionDir, err = os.MkdirTemp("", "coderunner-repl-"); err != nil {
			return fmt.Errorf("make a temporary session: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.SessionDir)) }()
	}
	if p.store, err = cfg.OpenSessions(b.Cache, session.Options{Command: true, Log: newLogger(zap.WarnLevel)}); err != nil {
		return err
	}
	if p.given, err = p.has(ctx); err != nil {
		return err
	}
	p.images = func(string, []byte) (string, bool) { return "", false }
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		if p.in, err = openEditor(p); err != nil {
			return err
		}
		defer onSignal(func(s syscall.Signal) bool { return s == syscall.SIGINT })() // between statements, too
		p.images = imageProtocol(os.Getenv)
		fmt.Fprintf(os.Stderr, "coderunner %s, %s. Ctrl-D or exit ends.\n", ownVersion(), o.language)
	} else {
		p.in = &pipedLines{bufio.NewReader(os.Stdin)}
	}
	defer p.in.Close()
	err = p.loop(ctx)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == 0 {
		return nil
	}
	if brokenPipe(err) {
		return &exitError{128 + int(syscall.SIGPIPE)}
	}
	return err
}

// loop runs one statement after another.
func (p *repl) loop(ctx context.Context) error {
	pending := ""
	for {
		line, err := p.in.line(pending != "")
		switch {
		case errors.Is(err, errInterrupted):
			pending = ""
			continue
		case errors.Is(err, io.EOF):
			if strings.TrimSpace(pending+line) == "" {
				return nil
			}
			return p.evaluate(ctx, pending+line)
		case err != nil:
			return fmt.Errorf("read a statement: %w", err)
		}
		if p.in.pasting() {
			pending += line + "\n"
			continue
		}
		if pending != "" && p.endsBefore(ctx, pending, line) {
			if err := p.evaluate(ctx, pending); err != nil {
				return err
			}
			pending = ""
		}
		if pending += line + "\n"; strings.TrimSpace(pending) == "" {
			pending = ""
		}
		if pending == "" || p.inBlock(line) || p.incomplete(ctx, pending) {
			continue
		}
		if err := p.evaluate(ctx, pending); err != nil {
			return err
		}
		pending = ""
	}
}

// inBlock reports whether an empty line is within a Python block, such as between the
// methods of a class: at a terminal, it would end it.
func (p *repl) inBlock(line string) bool {
	piped, ok := p.in.(*pipedLines)
	return ok && p.language == runners.Python && strings.TrimSpace(line) == "" && piped.indented()
}

// endsBefore reports whether a Python block ends before a line that is not
// indented: at a terminal, an empty line would have to follow it.
func (p *repl) endsBefore(ctx context.Context, pending, line string) bool {
	if p.language != runners.Python || strings.TrimSpace(line) == "" || strings.ContainsRune(" \t)]}", rune(line[0])) {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimRight(line, ": "), " ")
	for _, goes := range []string{"else", "elif", "except", "finally", "case"} {
		if strings.HasPrefix(word, goes) {
			return false
		}
	}
	return !p.incomplete(ctx, pending+"\n")
}

// codeop reports whether a text of Python is a whole statement.
const codeop = `import ast, codeop, sys, warnings
warnings.simplefilter("ignore")
compile = codeop.CommandCompiler()
compile.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
try:
    print("whole" if compile(sys.stdin.read(), "<stdin>", "single") else "incomplete")
except (SyntaxError, ValueError, OverflowError):
    print("wrong")
`

// incomplete reports whether a statement goes on.
func (p *repl) incomplete(ctx context.Context, text string) bool {
	switch p.language {
	case runners.Bash:
		return bash.Incomplete(text)
	case runners.Python:
	default:
		return deno.Incomplete(text)
	}
	out, err := p.runner.Run(ctx, runners.Request{Language: runners.Python, Code: codeop, Stdin: strings.NewReader(strings.TrimSuffix(text, "\n")), Limits: p.cfg.Limits})
	return err == nil && strings.HasPrefix(out.Stdout, "incomplete")
}

// leaves matches what ends a repl, with the exit code.
var leaves = regexp.MustCompile(`^(?:(?:sys\.|process\.|Deno\.)?(?:exit|quit)(?:\((\d*)\)|\s+(\d+))?|\.exit);?$`)

// readsKeys matches JavaScript that may read its standard input. The Deno process of
// any other would take what is typed ahead for the next statement.
var readsKeys = regexp.MustCompile(`\b(?:prompt|confirm|alert|stdin|readline)\b`)

// object matches JavaScript that a REPL reads as an object, not as a block.
var object = regexp.MustCompile(`(?s)^\s*\{\s*(?:\}|\.\.\.|(?:\[[^\]\n]*\]|[\w$]+|"[^"\n]*"|'[^'\n]*')\s*:|[\w$]+\s*[,}])(?:.*\})?\s*$`)

// evaluate runs a statement and prints what came of it. The error ends the repl.
func (p *repl) evaluate(ctx context.Context, code string) error {
	if m := leaves.FindStringSubmatch(strings.TrimSpace(code)); m != nil {
		status, _ := strconv.Atoi(m[1] + m[2])
		return &exitError{status & 0xff}
	}
	if p.language != runners.Python && p.language != runners.Bash && object.MatchString(code) {
		code = "(" + strings.TrimSpace(code) + ")"
	}
	req := runners.Request{Language: p.language, Code: code, Packages: p.packages, Limits: p.cfg.Limits, Stdout: p.stdout, Stderr: p.stderr}
	var err error
	if req.Files, err = p.filesFor(code); err != nil {
		return err
	}
	stdin, give := p.in.during()
	defer give()
	if p.language != runners.TypeScript && p.language != runners.JavaScript || readsKeys.MatchString(code) {
		_, piped := p.in.(*pipedLines)
		req.Stdin, req.Terminal = stdin, !piped
	}
	defer showProgress(&req)()
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	first := firstSignal{shown: []*stream{p.stdout, p.stderr}}
	if _, piped := p.in.(*pipedLines); !piped {
		if p.language == runners.Python || p.language == runners.Bash {
			req.Signals = &first.Signals // one that is not handled would end Deno
		}
		defer onSignal(func(s syscall.Signal) bool {
			if s == syscall.SIGINT && !first.take(s) {
				cancel()
			}
			return s == syscall.SIGINT
		})()
	}
	out, err := p.store.Run(run, session.Call{Session: p.session, Request: req}, p.runner.Run)
	refused, isRefused := errors.AsType[*session.Error](err)
	bad, isBad := errors.AsType[*runners.RequestError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case run.Err() != nil, err == nil && first.wordless(out):
		return p.stderr.printLine("coderunner: interrupted; the session is as before")
	case isRefused:
		return p.stderr.printLine("coderunner: " + refused.Message)
	case isBad:
		return p.stderr.printLine("coderunner: " + bad.Message)
	case err != nil:
		return err
	}
	runners.ExplainLanguage(req, out)
	if err := p.show(out); err != nil {
		return err
	}
	if out.Continued != nil && out.Continued.Exited {
		return &exitError{out.ExitCode}
	}
	if out.Continued != nil && out.Continued.Kept {
		p.gave(req.Files, out.Files)
	}
	return p.tellSession(out.Continued)
}

// show prints the outcome of a statement.
func (p *repl) show(out *runners.Outcome) error {
	red, plain := "", ""
	if p.in.colours() {
		red, plain = "\x1b[31m", "\x1b[0m"
	}
	if out.Result != nil {
		if err := p.stdout.printLine(out.Result.Text); err != nil {
			return err
		}
	}
	if text := strings.TrimRight(endText(out, p.cfg.Limits, notSeen(out.Error, ".", nil)), "\n"); text != "" {
		if err := p.stderr.printLine(red + text + plain); err != nil {
			return err
		}
	}
	for _, d := range out.Displays {
		if err := p.showDisplay(d); err != nil {
			return err
		}
	}
	for _, f := range out.Files {
		if err := p.stderr.printLine(fmt.Sprintf("coderunner: the session has %s (%s)", printable(f.Path), humanSize(f.Size))); err != nil {
			return err
		}
	}
	return nil
}

// showDisplay shows an image in the terminal or writes it to a file, and prints
// text.
func (p *repl) showDisplay(d runners.Display) error {
	if sequence, ok := p.images(d.MIME, d.Data); ok {
		return p.stdout.printLine(sequence)
	}
	if text := cmp.Or(d.Plain, map[bool]string{true: string(d.Data)}[strings.HasPrefix(d.MIME, "text/") && d.MIME != "text/html"]); text != "" {
		return p.stdout.printLine(text)
	}
	name := ""
	for taken := true; taken; { // files of earlier sessions stay
		p.shown++
		name = fmt.Sprintf("display-%d%s", p.shown, runners.Extension(d.MIME))
		_, err := os.Lstat(p.out + "/" + name)
		taken = err == nil
	}
	return writeFiles(p.out, p.stderr, []runners.LeftFile{{Path: name, MIME: d.MIME, Size: int64(len(d.Data)), Data: d.Data}})
}

// tellSession prints what a user must know of the session, and keeps the names of
// its variables.
func (p *repl) tellSession(c *runners.Continued) error {
	if c == nil {
		return nil
	}
	p.names = p.names[:0]
	for _, v := range c.Variables {
		p.names = append(p.names, v.Name)
	}
	switch {
	case c.Origin == runners.OriginLost:
		return p.stderr.printLine("coderunner: the variables were lost: " + c.Lost)
	case c.Origin == runners.OriginReplayed:
		return p.stderr.printLine("coderunner: the variables were made again, by running the earlier statements")
	case c.Refused != "":
		return p.stderr.printLine("coderunner: " + c.Refused)
	case !c.Kept && !c.RolledBack:
		return p.stderr.printLine("coderunner: the variables are as before this statement")
	}
	return nil
}

// pipedLines reads lines that nobody types.
type pipedLines struct{ r *bufio.Reader }

func (l *pipedLines) line(bool) (string, error) {
	line, err := l.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// indented reports whether the next line that is not empty is, as far as it is there.
func (l *pipedLines) indented() bool {
	next, _ := l.r.Peek(l.r.Buffered())
	next = bytes.TrimLeft(next, "\r\n")
	return len(next) > 0 && strings.ContainsRune(" \t", rune(next[0]))
}

func (l *pipedLines) pasting() bool               { return false }
func (l *pipedLines) during() (io.Reader, func()) { return nil, func() {} }
func (l *pipedLines) colours() bool               { return false }
func (l *pipedLines) Close() error                { return nil }
