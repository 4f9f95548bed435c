package deno

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/process"
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
	Load      bool              `json:"load"`              // load the program and evaluate nothing
	Session   *sessionTask      `json:"session,omitempty"`
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

// task returns the job's task for an instance.
func (j *job) task(in *process.Instance, load bool) task {
	t := task{
		Main: process.FileURL(filepath.Join(in.Dir.Work(), j.main)), Shown: j.shown, Args: j.req.Args, Kind: j.kind(), Modules: j.modules(), Aliases: j.required(in),
		Turn: j.program.Turn, Decorated: j.program.Decorated, Signals: j.req.Signals != nil, Room: j.req.Limits.Output, Load: load,
	}
	if in.Variant.Session || j.program.Script {
		t.Code = j.program.Edited()
	}
	if in.Variant.Session {
		t.Session = &sessionTask{
			Script: process.FileURL(filepath.Join(in.Dir.Work(), j.script)), Nonce: j.nonce, Typed: typed(j.main),
			Value: j.program.Value, Written: j.program.Written, Defaults: j.defaults(),
		}
	}
	return t
}

// kind returns how Node runs the program. TypeScript, which its users compile to scripts,
// has no kind, nor has CommonJS that needs a module of Deno's.
func (j *job) kind() string {
	ext := path.Ext(j.main)
	switch {
	case j.program.Script:
		return "script"
	case !typed(j.main) && (j.program.ESM || ext == ".mjs" || j.typeModule && ext == ".js"):
		return "module"
	}
	return ""
}

// programs returns the program and its files.
func (j *job) programs() []*jsparse.Program {
	all := []*jsparse.Program{j.program}
	for _, p := range j.parsed {
		all = append(all, p)
	}
	return all
}

// modules returns the modules of Node that the program and its files import.
func (j *job) modules() (names []string) {
	for _, p := range j.programs() {
		for _, i := range p.Imports {
			if name, ok := deps.NodeModule(i.Specifier); ok {
				names = append(names, name)
			}
		}
		if p.Requires {
			names = append(names, "module")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// imports reports whether the program or its files import a module of Node.
func (j *job) imports(module string) bool { return slices.Contains(j.modules(), module) }

// workers reports whether the program or its packages may start Workers.
func (j *job) workers() bool {
	return j.ready.Uses.Workers || slices.ContainsFunc(j.programs(), func(p *jsparse.Program) bool { return p.Workers }) || j.imports("worker_threads")
}

// required returns what require finds by the names of the program's configuration.
func (j *job) required(in *process.Instance) map[string]string {
	found := map[string]string{}
	for name, target := range j.aliases {
		if at, own := strings.CutPrefix(target, deps.Work); own {
			target = filepath.Join(in.Dir.Work(), filepath.FromSlash(at))
		}
		found[name] = target
	}
	return found
}

// defaults returns sessionTask.Defaults, as link has them for other programs.
func (j *job) defaults() map[string]string {
	found := map[string]string{}
	for _, i := range j.program.Imports {
		if !i.Static || !deps.Fetched(i.Specifier) {
			continue
		}
		if name, members := j.program.Defaulted(i.Specifier); members {
			found[i.Specifier] = ""
		} else if name != "" {
			found[i.Specifier] = name
		}
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
