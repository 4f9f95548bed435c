// Package repl reads statements, runs each in a session and prints its value, at a
// terminal or from a pipe. Its caller opens the runner, the session's store and the
// streams, and gives statements their files; see [Config].
package repl

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"coderunner/internal/project"
	"coderunner/internal/session"
	"coderunner/runners"
)

// Config is what a REPL works with.
type Config struct {
	Language runners.Language
	Runner   runners.Runner
	Store    *session.Store
	Session  string // its name in Store
	Packages []string
	Limits   runners.Limits

	// Terminal reports that statements are typed, so that they are edited and
	// interrupted, and images shown. Otherwise they come through a pipe.
	Terminal       bool
	Stdout, Stderr Stream
	// Progress shows the preparation of a program until done is called.
	Progress func(*runners.Request) (done func())
	// Explain returns why a program ended, "" if there is nothing to say, and Describe
	// the name and the size of a file.
	Explain  func(*runners.Outcome) string
	Describe func(runners.LeftFile) string
	// Interrupts has Ctrl-C interrupt a statement: by a signal, if its program gets
	// them, or by cancel. Restore ends that.
	Interrupts func(cancel func()) Interrupts

	// Project is the directory that statements see, and Files are more of them.
	Project *project.View
	Files   []runners.File
	// Save writes an image that is not shown, under a name that n makes unique. It
	// reports false if there is such a file.
	Save func(n int, d runners.Display) (bool, error)
}

// Stream is a standard stream, with a function that prints a line of its own.
type Stream struct {
	io.Writer
	Line func(text string) error
}

// Interrupts are those of one statement.
type Interrupts struct {
	Signals *runners.Signals
	Quiet   func(*runners.Outcome) bool // the signal is all there is to say of the outcome
	Restore func()
}

// Exit is the error of a REPL that a statement ended.
type Exit struct{ Code int }

func (e *Exit) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// repl reads statements and runs them.
type repl struct {
	Config
	in     lineReader
	images func(mime string, data []byte) (string, bool) // as the terminal shows them
	shown  int                                           // images written to files
	names  []string                                      // of the session's variables
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

// Run reads statements until their end, or an [Exit].
func Run(ctx context.Context, c Config) (err error) {
	r := &repl{Config: c, in: &pipedLines{bufio.NewReader(os.Stdin)}, images: func(string, []byte) (string, bool) { return "", false }}
	if c.Terminal {
		if r.in, err = openEditor(r); err != nil {
			return err
		}
		r.images = imageProtocol(os.Getenv)
	}
	defer r.in.Close()
	return r.loop(ctx)
}

// loop runs one statement after another.
func (r *repl) loop(ctx context.Context) error {
	pending := ""
	for {
		line, err := r.in.line(pending != "")
		switch {
		case errors.Is(err, errInterrupted):
			pending = ""
			continue
		case errors.Is(err, io.EOF):
			if strings.TrimSpace(pending+line) == "" {
				return nil
			}
			return r.evaluate(ctx, pending+line)
		case err != nil:
			return fmt.Errorf("read a statement: %w", err)
		}
		if r.in.pasting() {
			pending += line + "\n"
			continue
		}
		if pending != "" && r.endsBefore(ctx, pending, line) {
			if err := r.evaluate(ctx, pending); err != nil {
				return err
			}
			pending = ""
		}
		if pending += line + "\n"; strings.TrimSpace(pending) == "" {
			pending = ""
		}
		if pending == "" || r.inBlock(line) || r.incomplete(ctx, pending) {
			continue
		}
		if err := r.evaluate(ctx, pending); err != nil {
			return err
		}
		pending = ""
	}
}

// evaluate runs a statement and prints what came of it. The error ends the repl.
func (r *repl) evaluate(ctx context.Context, code string) error {
	if status, ok := exits(code); ok {
		return &Exit{status}
	}
	switch {
	case family(r.Language) == javaScript && isObject(code):
		code = "(" + strings.TrimSpace(code) + ")"
	case r.Language == runners.PHP:
		code = opened(code)
	}
	req := runners.Request{Language: r.Language, Code: code, Packages: r.Packages, Limits: r.Limits, Stdout: r.Stdout.Writer, Stderr: r.Stderr.Writer}
	req.Project, req.Files = r.Project, r.Files
	stdin, give := r.in.during()
	defer give()
	if r.Language != runners.TypeScript && r.Language != runners.JavaScript || readsKeys(code) {
		req.Stdin, req.Terminal = stdin, r.Terminal
	}
	defer r.Progress(&req)()
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := func(*runners.Outcome) bool { return false }
	if r.Terminal {
		i := r.Interrupts(cancel)
		defer i.Restore()
		if quiet = i.Quiet; r.Language == runners.Python || r.Language == runners.Bash {
			req.Signals = i.Signals // one that is not handled would end Deno
		}
	}
	out, err := r.Store.Run(run, session.Call{Session: r.Session, Request: req}, r.Runner.Run)
	refused, isRefused := errors.AsType[*session.Error](err)
	bad, isBad := errors.AsType[*runners.RequestError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case run.Err() != nil, err == nil && quiet(out):
		return r.Stderr.Line("coderunner: interrupted; the session is as before")
	case isRefused:
		return r.Stderr.Line("coderunner: " + refused.Message)
	case isBad:
		return r.Stderr.Line("coderunner: " + bad.Message)
	case err != nil:
		return err
	}
	runners.ExplainLanguage(req, out)
	if err := r.show(out); err != nil {
		return err
	}
	if out.Continued != nil && out.Continued.Exited {
		return &Exit{out.ExitCode}
	}
	if out.Continued != nil && out.Continued.Kept {
		r.Files = nil // it has them, and may have changed its own
	}
	return r.tellSession(out.Continued)
}

// show prints the outcome of a statement.
func (r *repl) show(out *runners.Outcome) error {
	red, plain := "", ""
	if r.in.colours() {
		red, plain = "\x1b[31m", "\x1b[0m"
	}
	if out.Result != nil && r.Language != runners.SQL { // whose rows are printed
		if err := r.Stdout.Line(out.Result.Text); err != nil {
			return err
		}
	}
	if text := strings.TrimRight(r.Explain(out), "\n"); text != "" {
		if err := r.Stderr.Line(red + text + plain); err != nil {
			return err
		}
	}
	for _, d := range out.Displays {
		if err := r.showDisplay(d); err != nil {
			return err
		}
	}
	for _, f := range out.Files {
		if err := r.Stderr.Line("coderunner: the session has " + r.Describe(f)); err != nil {
			return err
		}
	}
	return nil
}

// showDisplay shows an image in the terminal or writes it to a file, and prints
// text.
func (r *repl) showDisplay(d runners.Display) error {
	if sequence, ok := r.images(d.MIME, d.Data); ok {
		return r.Stdout.Line(sequence)
	}
	if text := cmp.Or(d.Plain, map[bool]string{true: string(d.Data)}[strings.HasPrefix(d.MIME, "text/") && d.MIME != "text/html"]); text != "" {
		return r.Stdout.Line(text)
	}
	for saved := false; !saved; { // files of earlier sessions stay
		r.shown++
		var err error
		if saved, err = r.Save(r.shown, d); err != nil {
			return err
		}
	}
	return nil
}

// tellSession prints what a user must know of the session, and keeps the names of
// its variables.
func (r *repl) tellSession(c *runners.Continued) error {
	if c == nil {
		return nil
	}
	r.names = r.names[:0]
	for _, v := range c.Variables {
		r.names = append(r.names, v.Name)
	}
	switch {
	case c.Origin == runners.OriginLost:
		return r.Stderr.Line("coderunner: the variables were lost: " + c.Lost)
	case c.Origin == runners.OriginReplayed:
		return r.Stderr.Line("coderunner: the variables were made again, by running the earlier statements")
	case c.Refused != "":
		return r.Stderr.Line("coderunner: " + c.Refused)
	case !c.Kept && !c.RolledBack:
		return r.Stderr.Line("coderunner: the variables are as before this statement")
	}
	return nil
}
