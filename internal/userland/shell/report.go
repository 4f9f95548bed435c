package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// lineOf returns the line of a position of the text that is executed.
func (sh *shell) lineOf(pos syntax.Pos) int {
	if !pos.IsValid() {
		return sh.line
	}
	return sh.src.LineOf(pos)
}

// prefix is what an error message begins with: the script and the line.
func (sh *shell) prefix() string {
	if sh.alone {
		return ""
	}
	name := sh.name
	if n := len(sh.calls); n > 0 {
		if name = sh.calls[n-1].source; name == "" && sh.script == "" {
			name = "environment"
		}
	}
	return fmt.Sprintf("%s: line %d: ", name, sh.line)
}

// errorf writes a message to the script's stderr.
func (sh *shell) errorf(format string, args ...any) {
	sh.write(2, sh.prefix()+fmt.Sprintf(format, args...)+"\n")
}

// fail writes a message and returns the status of what failed.
func (sh *shell) fail(format string, args ...any) int {
	sh.errorf(format, args...)
	return 1
}

// shellError reports whether an error is the shell's, not that of the command that met it:
// set -e ends the shell then, and be it a condition.
func shellError(err error) bool {
	return errors.Is(err, vars.ErrReadOnly) || errors.Is(err, vars.ErrSubscript) || errors.Is(err, expand.ErrSubstitution) || errors.Is(err, expand.ErrIndirect)
}

// report reports an error of a command.
func (sh *shell) report(err error) {
	switch {
	case sh.ctx.Err() != nil:
	case errors.Is(err, vars.ErrMemory):
		sh.exhausted(err)
	default:
		sh.errorf("%v", err)
		if sh.opts.Errexit && shellError(err) {
			sh.status, sh.jump = max(1, sh.status), jump{kind: exits}
		}
	}
}

func (sh *shell) reportIn(command string, err error) {
	if errors.Is(err, vars.ErrMemory) || shellError(err) {
		sh.report(err)
		return
	}
	if e, ok := errors.AsType[*vars.Error](err); ok && e.Fatal {
		sh.discard(err)
		return
	}
	sh.errorf("%s: %v", command, err)
}

// exhausted ends the program: there is no sense in going on without memory.
func (sh *shell) exhausted(err error) {
	if sh.ctx.Err() == nil {
		sh.errorf("%v", err)
		sh.p.Kernel().Fail(kernel.ErrMemory)
	}
	sh.status, sh.jump = 2, jump{kind: exits}
}

// discard reports an error of an expansion or assignment, which ends the line, or
// the shell.
func (sh *shell) discard(err error) {
	sh.report(err)
	if sh.jump.kind == exits {
		return
	}
	var e *vars.Error
	sh.status, sh.jump = 1, jump{kind: discards}
	if s, ok := err.(*expand.BadSubstitution); ok && s.Fatal || errors.As(err, &e) && e.Fatal {
		if sh.jump.kind = exits; sh.script == "" {
			sh.status = 127
		}
	}
}

// write writes to a descriptor, and reports whether that succeeded.
func (sh *shell) write(fd int, s string) bool {
	if s == "" {
		return true
	}
	f := sh.files.FDs[fd]
	if f == nil {
		return false
	}
	_, err := io.WriteString(sh.p.Writer(sh.ctx, f), s)
	return err == nil
}

// print writes to stdout for a builtin, whose status it returns.
func (sh *shell) print(command, s string) int {
	if sh.write(1, s) || sh.ctx.Err() != nil {
		return 0
	}
	text := "Bad file descriptor"
	if f := sh.files.FDs[1]; f != nil {
		text = files.Message(abi.EIO)
		if _, e := f.Write(sh.ctx, nil); e != abi.OK {
			text = files.Message(e)
		} else if f.Node() != nil || f.Stream() != nil {
			text = files.Message(abi.ENOSPC)
		}
	}
	return sh.fail("%s: write error: %s", command, text)
}

// readFile returns at most limit bytes of a file.
func (sh *shell) readFile(name string, limit int64) (string, error) {
	f, e := sh.files.Open(sh.ctx, name, abi.O_RDONLY, 0)
	if e != abi.OK {
		return "", fmt.Errorf("%s: %s", name, files.Message(e))
	}
	defer f.Close()
	st := f.Stat()
	if st.IsDir() {
		return "", fmt.Errorf("%s: Is a directory", name)
	}
	var b strings.Builder
	if _, err := io.Copy(&b, io.LimitReader(bounded{sh, sh.p.Reader(sh.ctx, f)}, limit)); err != nil {
		return "", err
	}
	return b.String(), nil
}

// bounded is a reader whose bytes are charged to the shell's memory.
type bounded struct {
	sh *shell
	r  io.Reader
}

func (b bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if !b.sh.Room(2 * int64(n)) {
		return 0, vars.ErrMemory
	}
	return n, err
}

// dialect is a shell whose texts are parsed.
type dialect struct{ sh *shell }

func (d dialect) ExtGlob() bool { return d.sh.opts.Extglob }

func (d dialect) Aliases() map[string]string {
	if !d.sh.opts.ExpandAliases {
		return nil
	}
	return d.sh.state.Aliases
}

func (d dialect) Warn(line int, text string) {
	d.sh.write(2, fmt.Sprintf("%s: line %d: warning: %s\n", cmp.Or(d.sh.src.Name, d.sh.name), line, text))
}

// evalText parses and runs a text in this shell, as eval does.
func (sh *shell) evalText(text string) {
	src := &parse.Source{Text: text, Name: sh.src.Name, First: max(1, sh.line)}
	sh.runText(src, "eval")
}

// runText runs a source, statement by statement as it is parsed. After an error of
// an expansion it goes on with the next line.
func (sh *shell) runText(src *parse.Source, command string) error {
	old, levels := sh.src, sh.levels
	sh.src = src
	if command == "eval" || command == "source" {
		sh.levels++
	}
	defer func() { sh.src, sh.levels = old, levels }()
	discarded, all := 0, sh.depth > 0 && command != "-c" // all: a subshell's eval ends it
	err := src.Statements(dialect{sh}, func(st *syntax.Stmt) bool {
		if sh.lineOf(st.Pos()) == discarded {
			return true
		}
		discarded = 0
		sh.stmt(st)
		if sh.jump.kind == discards && !all {
			sh.jump, discarded = jump{}, sh.line
		}
		return !sh.stopped()
	})
	if err == nil || sh.stopped() {
		return nil
	}
	prefix := sh.name
	switch {
	case command == "eval":
		prefix += ": eval"
	case sh.script == "" && command == "-c":
		prefix += ": -c"
	case src.Name != "":
		prefix = src.Name
	}
	sh.write(2, src.Message(prefix, err))
	sh.status = 2
	return err
}

// signalText is what a shell says of a child that a signal ended.
func signalText(s kernel.Signal) string {
	texts := map[kernel.Signal]string{1: "Hangup", 3: "Quit", 4: "Illegal instruction", 6: "Aborted", 8: "Floating point exception",
		9: "Killed", 10: "User defined signal 1", 11: "Segmentation fault", 12: "User defined signal 2", 14: "Alarm clock", 15: "Terminated"}
	return texts[s]
}

// jumpStatus is the status that goes with a jump in progress.
func (sh *shell) jumpStatus() int {
	if sh.jump.kind != 0 {
		return sh.status
	}
	return 0
}

// dropLine leaves the rest of the line, unless a jump is in progress. It reports whether it did.
func (sh *shell) dropLine() bool {
	if sh.jump.kind != 0 {
		return false
	}
	sh.status, sh.jump = 1, jump{kind: discards}
	return true
}
