package shell

import (
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// newShell returns the first shell of a process.
func newShell(ctx context.Context, p *kernel.Process) *shell {
	sh := &shell{
		name: "bash", src: &parse.Source{First: 1},
		state: builtins.NewState(),
		opts:  options.Defaults, hinted: new(sync.Map),
		files: files.Files{FS: p.FS(), FDs: p.TakeFiles(), Dir: p.Dir, Umask: p.Umask}, pid: p.PID(), traps: map[string]string{},
		pipeStatus: []int{0}, random: generator{seed: rand.Uint32()},
	}
	sh.wire = func(sh *shell) {
		sh.vars.SetHost(variables{sh})
		sh.ex = expand.New(sh.vars, &sh.files, &sh.opts, expansions{sh})
	}
	sh.task = newTask(ctx, p)
	sh.vars = vars.New(&sh.task.Memory)
	sh.wire(sh)
	sh.environment(p.Env)
	return sh
}

// environment makes variables of the environment, and those that bash sets.
func (sh *shell) environment(env []string) {
	for _, kv := range env {
		name, s, _ := strings.Cut(kv, "=")
		if f, ok := strings.CutPrefix(name, "BASH_FUNC_"); ok {
			sh.importFunction(strings.TrimSuffix(f, "%%"), s)
		} else if parse.ValidName(name) {
			sh.vars.Scope.Vars[name] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: s}
		}
	}
	for name, s := range map[string]string{
		"IFS": " \t\n", "PS4": "+ ", "OPTIND": "1", "BASH": "/bin/bash", "BASH_VERSION": bashVersion, "HOSTNAME": "localhost",
		"HOSTTYPE": "wasm32", "MACHTYPE": machType, "OSTYPE": "linux-gnu",
	} {
		if v := sh.vars.Scope.Vars[name]; v == nil || name == "IFS" || name == "OPTIND" {
			sh.vars.Scope.Vars[name] = vars.Text(s)
		}
	}
	for name, s := range map[string]string{"UID": "0", "EUID": "0"} {
		sh.vars.Scope.Vars[name] = &vars.Variable{IsSet: true, Str: s, Attrs: vars.ReadOnly | vars.Integer}
	}
	sh.vars.Scope.Vars["BASH_VERSINFO"] = &vars.Variable{Kind: vars.Indexed, IsSet: true, List: sh.vars.NewArray(bashVersinfo), Attrs: vars.ReadOnly}
	if sh.vars.Scope.Vars["PATH"] == nil {
		sh.vars.Scope.Vars["PATH"] = vars.Text(kernel.DefaultPath)
	}
	if pwd := sh.vars.Scope.Vars["PWD"]; pwd == nil || pwd.Str != sh.files.Dir {
		sh.vars.Scope.Vars["PWD"] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: sh.files.Dir}
	}
	level, _ := sh.ex.Evaluate(sh.vars.Get("SHLVL"))
	sh.vars.Scope.Vars["SHLVL"] = &vars.Variable{Attrs: vars.Exported, IsSet: true, Str: strconv.FormatInt(level+1, 10)}
}
