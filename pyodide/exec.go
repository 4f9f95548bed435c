package pyodide

import (
	"context"
	"encoding/json"
	"fmt"
)

// Command is a command line of Python.
type Command struct {
	Args []string // with the name of the command as the first
	Env  []string // "NAME=value", all of the environment
}

// maxExecReport bounds the report on a command: an exit status.
const maxExecReport = 4 << 10

// Exec runs a command line as the command python does: -c, -m, a file, or what
// there is on descriptor 0. It prints what an uncaught exception leaves, and has
// nothing in its Result but how the process ended. It is for an interpreter of
// its own, which [Interp.Run] has not used.
func (in *Interp) Exec(ctx context.Context, c Command) (*Result, error) {
	req, err := json.Marshal(map[string]any{
		"args": encodeAll(c.Args), "env": encodeAll(c.Env), "new_zone": in.newZone, "pid": in.pid(),
	})
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.dead {
		return nil, errClosed
	}
	return in.runLocked(ctx, Program{}, maxExecReport, func(g guest) (uint32, error) {
		return g.callOne(in.functions.Exec, string(req))
	})
}

// pid returns the number of the interpreter's process.
func (in *instance) pid() int {
	if in.process == nil {
		return 42 // as Emscripten's getpid
	}
	return in.process.PID()
}

// encodeAll returns texts whose bytes are one character each, as paths of the
// guest are.
func encodeAll(texts []string) []string {
	encoded := make([]string, len(texts))
	for i, s := range texts {
		runes := make([]rune, 0, len(s))
		for _, b := range []byte(s) {
			runes = append(runes, rune(b))
		}
		encoded[i] = string(runes)
	}
	return encoded
}
