package repl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// editor reads lines at a terminal, with a history and completion.
type editor struct {
	*liner.State
	history     string // its file
	keys        *keyboard
	read, write *os.File          // the pipe through which it gets its keys
	ours, usual liner.ModeApplier // the terminal's modes, while a line is edited and else
}

// openEditor takes the terminal for the repl.
func openEditor(r *repl) (*editor, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("locate the history: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	e := &editor{history: filepath.Join(dir, "coderunner", "history-"+family(r.Language))}
	if err := e.openKeys(); err != nil {
		return nil, err
	}
	e.SetCtrlCAborts(true)
	e.SetTabCompletionStyle(liner.TabPrints)
	e.SetWordCompleter(func(line string, pos int) (head string, list []string, tail string) {
		runes := []rune(line)
		head, tail = string(runes[:pos]), string(runes[pos:])
		at := 1 + strings.LastIndexFunc(head, func(r rune) bool { return !strings.ContainsRune("_$.", r) && !isAlphanumeric(r) })
		word := head[at:]
		if word == "" {
			return head, []string{"    "}, tail
		}
		return head[:at], r.complete(word), tail
	})
	if f, err := os.Open(e.history); err == nil {
		_, _ = e.ReadHistory(f) // what cannot be read is not there
		f.Close()
	}
	return e, nil
}

// openKeys starts the editor between the terminal and a pipe.
func (e *editor) openKeys() (err error) {
	if e.usual, err = liner.TerminalMode(); err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	if e.read, e.write, err = os.Pipe(); err != nil {
		return err
	}
	tty := os.Stdin
	os.Stdin = e.read // which the editor keeps
	e.State = liner.NewLiner()
	os.Stdin = tty
	e.keys = newKeyboard(tty)
	fmt.Print("\x1b[?2004h") // have pastes marked
	e.ours, err = liner.TerminalMode()
	return err
}

// during lends the terminal to a statement, until give is called.
func (e *editor) during() (stdin io.Reader, give func()) {
	_ = e.usual.ApplyMode() // or the statement sees its keys as they come
	done := make(chan struct{})
	return statementInput{e.keys, done}, func() {
		close(done)
		_ = e.ours.ApplyMode()
	}
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f
}

func (e *editor) line(more bool) (string, error) {
	prompt := "> "
	if more {
		prompt = "… "
	}
	line, err := e.prompt(prompt)
	switch {
	case errors.Is(err, liner.ErrPromptAborted):
		return "", errInterrupted
	case errors.Is(err, io.EOF):
		fmt.Println() // the shell's prompt has its own line
	case err == nil && strings.TrimSpace(line) != "":
		e.AppendHistory(line)
	}
	return line, err
}

func (e *editor) prompt(prompt string) (string, error) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		e.keys.feed(e.write, done)
	}()
	defer func() { close(done); <-ended }()
	return e.Prompt(prompt)
}

func (e *editor) pasting() bool { return e.keys.pasting() }

func (e *editor) colours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Close keeps the history and gives the terminal back.
func (e *editor) Close() error {
	err := e.State.Close()
	fmt.Print("\x1b[?2004l")
	e.read.Close()
	e.write.Close()
	if mkdir := os.MkdirAll(filepath.Dir(e.history), 0o700); mkdir != nil {
		return errors.Join(err, mkdir)
	}
	f, open := os.OpenFile(e.history, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if open != nil {
		return errors.Join(err, open)
	}
	_, write := e.WriteHistory(f)
	return errors.Join(err, write, f.Close())
}
