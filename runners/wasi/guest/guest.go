// Package guest says what a language of runners/wasi is: a row of the table there, described
// in a directory of its own.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/dwarf"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
)

// Language is a language.
type Language struct {
	Name    runners.Language
	Version string   // of its interpreter
	File    string   // name of a program that nobody named: "main.rb"
	Formats []string // what its files begin with, where they can be executed by their names

	// Commands are the names of its command, the best first.
	Commands []string

	// Module is its interpreter; nil: it has none.
	Module *engine.Module

	// Derive makes a file of the module, by a key, and returns its path; Derived is the key of
	// one that all programs need. Nil: there are no such files.
	Derive  func(ctx context.Context, e *engine.Engine, code *engine.Code, key string) (string, error)
	Derived string

	// Data returns the contents of a program's file; nil: its text. The error is a
	// *[runners.RequestError].
	Data func(code string) ([]byte, error)

	// Args returns the arguments of the command that runs a program, after the name; nil: the
	// file and the program's. Session reports whether the files are a session's.
	Args func(file string, args []string, session bool) []string

	// Ready prepares what a program's file needs besides the language's module; its time is not
	// the program's. Nil: nothing. What fails, Run tells.
	Ready func(ctx context.Context, e *engine.Engine, data []byte)

	// Explain adds to the report what files and the output of a program tell that has ended
	// by itself; nil: nothing.
	Explain func(o *runners.Outcome, fsys *memfs.FS, r *Report)

	// Imports are modules of Python's library that a command imports which is Python's.
	Imports []string

	// Starts reports that its programs start processes, by [MakeStarter]'s file.
	Starts bool

	// InFiles reports that nothing of a program goes on in a session but files.
	InFiles bool

	// Run is the command; nil: the machine has it already.
	Run func(ctx context.Context, c *Call) int
}

// Call is one start of a command.
type Call struct {
	*kernel.Process
	Engine *engine.Engine
	Code   *engine.Code // of the language's module
	Report *Report      // of the program of a run; nil: the command is another's child
}

// Read returns what a file has that the process may read, at most limit bytes.
func Read(ctx context.Context, p *kernel.Process, name string, limit int64) ([]byte, error) {
	f, errno := p.Open(ctx, name, abi.O_RDONLY, 0)
	if errno != abi.OK {
		return nil, fmt.Errorf("%s: %w", name, errno)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(p.Reader(ctx, f), limit))
}

// Write writes a file as the process may. It can be executed if perm says so.
func Write(ctx context.Context, p *kernel.Process, name string, data []byte, perm uint32) error {
	f, errno := p.Open(ctx, name, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, perm)
	if errno != abi.OK {
		return fmt.Errorf("%s: %w", name, errno)
	}
	defer f.Close()
	if _, err := p.Writer(ctx, f).Write(data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.Stat().Mode&0o111 == 0 && perm&0o111 != 0 { // it was there before
		_ = p.FS().Chmod(f.Node(), perm&^p.Umask) // where it may not be, that is what executing it tells
	}
	return nil
}

// Mount shows files at a directory, once; has is one of them.
func Mount(fsys *memfs.FS, dir, has string, files fs.FS) error {
	if n, errno := fsys.Lookup(nil, path.Join(dir, has), true); errno == abi.OK {
		if fsys.Chmod(n, 0o555) != abi.EROFS { // as for what is mounted
			return errors.New(dir + " is another program's")
		}
		return nil
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return fsys.MountInto(dir, files)
}

// Report is what a run's program leaves besides what it prints. The program may have forged
// all of it.
type Report struct {
	Error  *runners.Error
	Result *runners.Value
	Note   string
	Memory bool // it ended for want of memory

	Session   *runners.Session   // that the program goes on with; nil: none
	Continued *runners.Continued // what became of it
}

// stateFile is the file of what a program has left in a session: see [runners.Session.Save].
const stateFile = "memory"

// begin makes the interpreter that a program runs in: what the last one of its session has left,
// or one that has begun, as [engine.Begin] makes it.
func (c *Call) begin(ctx context.Context, boot func(in *engine.Instance) (state []byte, err error)) (in *engine.Instance, state []byte, err error) {
	if c.Report == nil || c.Report.Session == nil {
		return engine.Begin(ctx, c.Process, c.Code, boot)
	}
	s, k := c.Report.Session, &runners.Continued{Origin: runners.OriginFresh}
	c.Report.Continued = k
	if s.Before != "" {
		files, err := s.Saved()
		if err == nil && files[stateFile] == "" {
			err = errors.New("they were not saved")
		}
		if err == nil {
			in, state, err = engine.Resume(ctx, c.Process, c.Code, files[stateFile])
		}
		if err == nil {
			k.Origin = runners.OriginRestored
			return in, state, nil
		}
		k.Origin, k.Lost = runners.OriginLost, err.Error()
	}
	return engine.Begin(ctx, c.Process, c.Code, boot)
}

// Interpret runs a program in an interpreter whose module is a library. Boot begins it and
// returns what of its state is the host's; nil: nothing that happens before a program can be
// used again. Program returns the exit status. Both call the module by Must.
func (c *Call) Interpret(ctx context.Context, name string, boot func(in *engine.Instance) []byte, program func(in *engine.Instance, state []byte) int) int {
	var in *engine.Instance
	var state []byte
	var err error
	if boot == nil {
		in, _, err = engine.Begin(ctx, c.Process, c.Code, nil)
	} else {
		in, state, err = c.begin(ctx, func(in *engine.Instance) (state []byte, err error) {
			err = engine.Guard(func() { state = boot(in) })
			return state, err
		})
	}
	if in == nil {
		return c.Ended(ctx, name, engine.End{}, err)
	}
	defer in.Close()
	status := 0
	if err == nil {
		err = engine.Guard(func() { status = program(in, state) })
	}
	end := in.End(err)
	if err == nil {
		end.Code = status
	}
	return c.Ended(ctx, name, end, nil)
}

// Goes reports whether the program goes on with what others of its session have left, or is
// the first of one.
func (c *Call) Goes() bool { return c.Report != nil && c.Report.Session != nil }

// Leave saves what the program leaves in its session, which is nothing if it must succeed for
// that and has not.
func (c *Call) Leave(in *engine.Instance, state []byte, variables []runners.Variable, succeeded bool) {
	r := c.Report
	if !c.Goes() || r.Session.Rollback && !succeeded {
		return
	}
	if err := in.Save(filepath.Join(r.Session.Save, stateFile), state); err != nil {
		return // the next program goes on with what the last has left
	}
	r.Continued.Kept = true
	most := min(len(variables), runners.MaxVariables)
	r.Continued.VariablesOmitted = len(variables) - most
	for _, v := range variables[:most] {
		r.Continued.Variables = append(r.Continued.Variables, runners.Variable{Name: runners.Clip(v.Name, runners.MaxVariableText), Type: runners.Clip(v.Type, runners.MaxVariableText)})
	}
}

// Ended ends a process as its module has ended, and reports a trap. The error is that of
// starting it.
func (c *Call) Ended(ctx context.Context, name string, end engine.End, err error) int {
	switch {
	case err == nil:
	case errors.Is(err, abi.ENOMEM):
		end = engine.End{Trap: err.Error(), Memory: true}
	default:
		if ctx.Err() == nil {
			c.Kernel().Fail(err)
		}
		return 1
	}
	if c.Report != nil && end.Memory {
		c.Report.Memory = true
	}
	if i := slices.IndexFunc(end.Frames, func(f dwarf.Frame) bool { return f.Line > 0 }); i >= 0 {
		end.Excerpt = excerpt(ctx, c.Process, end.Frames[i])
	}
	if c.Report != nil && end.Trap != "" {
		c.Report.Error = &runners.Error{Type: "Trap", Message: end.Trap, Traceback: end.Trace(), Shown: true}
		if i := slices.IndexFunc(end.Frames, func(f dwarf.Frame) bool { return f.Line > 0 && path.Base(f.File) == path.Base(name) }); i >= 0 {
			c.Report.Error.Line = end.Frames[i].Line
		}
	}
	return end.Finish(ctx, c.Process, name)
}

// excerpt returns a line of a source as compilers show it, "" if the process cannot read it.
func excerpt(ctx context.Context, p *kernel.Process, f dwarf.Frame) string {
	const most, wide = 4 << 20, 200
	text, err := Read(ctx, p, f.File, most)
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; n == f.Line && err == nil {
			return fmt.Sprintf("\n%5d | %s", n, runners.ClipLine(strings.TrimRight(line, "\r\n"), wide))
		}
	}
	return ""
}

// Apply adds the report to the outcome of a program that has ended by itself.
func (r *Report) Apply(o *runners.Outcome, limits runners.Limits) {
	switch {
	case r.Memory:
		o.Status, o.Error = runners.OutOfMemory, limits.Exceeded(runners.OutOfMemory)
	case r.Error != nil && o.Status == runners.Failed:
		o.Error = r.Error
	}
	o.Result, o.Note = r.Result, r.Note
}
