package deno

import (
	"math/rand/v2"
	"path/filepath"
	"strings"

	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/program"
)

// task is sent to the bootstrap when there is a program.
type task struct {
	Main      string            `json:"main"`  // the program's URL
	Shown     string            `json:"shown"` // its name in messages
	Args      []string          `json:"args,omitempty"`
	Kind      string            `json:"kind"`              // how Node runs it: as a script, as a module, or "" if it does not
	Code      string            `json:"code,omitempty"`    // of a script, or a session's
	Modules   []string          `json:"modules,omitempty"` // of Node that it and its files import
	Aliases   map[string]string `json:"aliases,omitempty"` // what require finds by other names
	Turn      bool              `json:"turn"`              // it may ask for ticks or immediates in its first turn
	Decorated bool              `json:"decorated"`         // it has decorators, which may seal their classes
	Signals   bool              `json:"signals"`           // somebody may send it signals
	Room      int64             `json:"room"`              // most characters of the result
	Seed      []uint32          `json:"seed,omitempty"`    // of a fork's random numbers
	Load      bool              `json:"load"`              // load the program and evaluate nothing
	Session   *sessionTask      `json:"session,omitempty"`
	Tools     *toolsTask        `json:"tools,omitempty"` // nil: it has none
}

// sessionTask is what only a session's program has.
type sessionTask struct {
	Script  string `json:"script"`  // its URL in stacks
	Nonce   string `json:"nonce"`   // to report its end with
	Typed   bool   `json:"typed"`   // it is TypeScript
	Value   bool   `json:"value"`   // it ends with an expression
	Written bool   `json:"written"` // which returns how much was written

	// Defaults are the packages whose default, if they have none, is all that they export,
	// "", or the export of a name.
	Defaults map[string]string `json:"defaults,omitempty"`
}

// toolsTask is what a program with tools has.
type toolsTask struct {
	Module   bool     `json:"module"` // it may import the module
	Servers  []string `json:"servers"`
	Answers  string   `json:"answers"`  // the pipe for answers
	Required bool     `json:"required"` // the module is imported by require
	Files    string   `json:"files"`    // what stands for /tools
	Written  string   `json:"written"`  // the pipe that has a byte for each of them that was written
}

// task returns the job's task for an instance.
func (j *job) task(in *process.Instance, load bool) task {
	t := task{
		Main: process.FileURL(filepath.Join(in.Dir.Work(), j.Main)), Shown: j.Shown, Args: j.req.Args, Kind: j.Kind(), Modules: j.Modules(), Aliases: j.required(in),
		Turn: j.Program.Turn, Decorated: j.Program.Decorated, Signals: j.req.Signals != nil, Room: j.req.Limits.Output, Load: load,
	}
	if in.Forked() {
		t.Seed = []uint32{rand.Uint32(), rand.Uint32(), rand.Uint32(), rand.Uint32()}
	}
	if j.calls != nil {
		t.Tools = &toolsTask{
			Module: j.Deps.Tools || in.Variant.Session, Servers: j.req.Tools.Servers(), Answers: in.Dir.Answers(), Required: j.Deps.RequiresTools,
			Files: in.Dir.Tools(), Written: in.Dir.Written(),
		}
	}
	if in.Variant.Session || j.Program.Script {
		t.Code = j.Program.Edited()
	}
	if in.Variant.Session {
		t.Session = &sessionTask{
			Script: process.FileURL(filepath.Join(in.Dir.Work(), j.script)), Nonce: j.nonce, Typed: program.Typed(j.Main),
			Value: j.Program.Value, Written: j.Program.Written, Defaults: j.Defaults(),
		}
	}
	return t
}

// required returns what require finds by the names of the program's configuration.
func (j *job) required(in *process.Instance) map[string]string {
	found := map[string]string{}
	for name, target := range j.Aliases {
		if at, own := strings.CutPrefix(target, deps.Work); own {
			target = filepath.Join(in.Dir.Work(), filepath.FromSlash(at))
		}
		found[name] = target
	}
	return found
}

// order sends the bootstrap its task and starts to copy the program's stdin, which may
// block. It reports whether the task was written.
func (j *job) order(in *process.Instance, load bool) bool {
	input := in.Process.Stdin
	to := input.File
	if in.Variant.Session {
		to = in.Orders
	}
	// The process may end at any time.
	if err := process.WriteFrame(to, j.task(in, load)); err != nil {
		input.Close()
		return false
	}
	if load {
		input.Close()
		return true
	}
	go func() {
		defer input.Close()
		if j.drip != nil {
			j.drip.copy()
			return
		}
		j.stdin.copy(input)
	}()
	return true
}
