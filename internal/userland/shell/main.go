package shell

import (
	"context"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"sync"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/expand"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// Main is bash and sh: bash [options] [-c text | file] [arguments].
func Main(ctx context.Context, p *kernel.Process) int { return run(ctx, p, nil) }

// Builtin returns a builtin of bash as a program of its own, such as /bin/echo. It
// panics if bash has none of that name.
func Builtin(name string) kernel.Program {
	run := commands[name]
	if run == nil {
		panic("no builtin " + name)
	}
	return func(ctx context.Context, p *kernel.Process) int {
		sh := newShell(ctx, p)
		defer sh.Memory.End()
		defer sh.files.Close()
		sh.alone = true
		return run(sh, append([]string{name}, p.Args[min(1, len(p.Args)):]...))
	}
}

// run runs bash, in a session if there is one.
func run(ctx context.Context, p *kernel.Process, s *Session) int {
	sh := newShell(ctx, p)
	defer sh.Memory.End()
	defer sh.files.Close()
	args := p.Args
	if len(args) == 0 {
		args = []string{"bash"}
	}
	sh.name = args[0][strings.LastIndexByte(args[0], '/')+1:]
	sh.state.Zero = args[0]
	sh.name = sh.state.Zero
	src, command, ok := arguments(sh, args[1:])
	if !ok {
		return sh.status
	}
	if s != nil {
		s.restore(sh)
		sh.opts.ExpandAliases = sh.opts.ExpandAliases || s.Typed
	} else if name := sh.vars.Get("BASH_ENV"); name != "" && path.Base(sh.name) != "sh" {
		source(sh, "source", []string{name})
	}
	err := sh.runText(src, command)
	if s != nil {
		s.problem(src, err)
	}
	if s != nil && s.Keep && ctx.Err() == nil && !sh.replaced {
		s.leave(sh)
	}
	return sh.finish()
}

const version = "GNU bash, version " + bashVersion + " (" + machType + "), as coderunner has it\n"

// arguments takes the options, and returns the text to run.
func arguments(sh *shell, args []string) (src *parse.Source, command string, ok bool) {
	isCommand, stdin := false, false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		switch a {
		case "--", "-":
		case "--version":
			sh.write(1, version)
			return nil, "", false
		case "--help":
			sh.write(1, version+"Usage: bash [-abefhkmnptuvxBCEHPT] [-o option] [-O shopt_option] [-c text | file] [argument ...]\n")
			return nil, "", false
		case "--norc", "--noprofile", "--login", "--posix", "--noediting", "--restricted":
			continue
		case "--rcfile", "--init-file":
			args = args[min(1, len(args)):]
			continue
		case "-O", "+O":
			if len(args) > 0 {
				builtins.Table["shopt"](face{sh}, []string{"shopt", map[bool]string{true: "-s", false: "-u"}[a == "-O"], args[0]})
				args = args[1:]
			}
			continue
		default:
			if strings.HasPrefix(a, "--") {
				sh.write(2, sh.name+": "+a+": invalid option\n")
				sh.status = 2
				return nil, "", false
			}
			letters := a[:1]
			for _, c := range []byte(a[1:]) {
				switch c {
				case 'c':
					isCommand = true
				case 's':
					stdin = true
				case 'l', 'i', 'r', 'D':
				default:
					letters += string(c)
				}
			}
			if len(letters) == 1 {
				continue
			}
			flags := []string{letters}
			if strings.HasSuffix(letters, "o") && len(args) > 0 {
				flags, args = append(flags, args[0]), args[1:]
			}
			if _, _, status := builtins.SetFlags(face{sh}, flags, sh.name); status != 0 {
				sh.status = status
				return nil, "", false
			}
			continue
		}
		break
	}
	return sourceText(sh, args, isCommand, stdin)
}

func sourceText(sh *shell, args []string, isCommand, stdin bool) (src *parse.Source, command string, ok bool) {
	switch {
	case isCommand && len(args) == 0:
		sh.write(2, sh.name+": -c: option requires an argument\n")
		sh.status = 2
		return nil, "", false
	case isCommand:
		src = &parse.Source{Text: args[0], First: 1}
		if len(args) > 1 {
			sh.state.Zero, sh.name, sh.state.Params = args[1], args[1], args[2:]
		}
		return src, "-c", true
	case stdin || len(args) == 0:
		sh.state.Params = args
		text, err := sh.readFile("/dev/stdin", maxScript)
		if err != nil {
			return nil, "", false
		}
		return &parse.Source{Text: text, First: 1}, "stdin", true
	}
	name := args[0]
	sh.state.Zero, sh.name, sh.script, sh.state.Params = name, name, name, args[1:]
	at := name
	if _, e := sh.files.Lookup(name, true); e == abi.ENOENT && !strings.Contains(name, "/") {
		if p := builtins.Which(face{sh}, name); p != "" {
			at = p
		}
	}
	text, err := sh.readFile(at, maxScript)
	if err != nil {
		sh.status = 127
		if sh.files.IsDir(at) {
			sh.status = 126
		}
		sh.write(2, "bash: "+err.Error()+"\n")
		return nil, "", false
	}
	if line, _, _ := strings.Cut(text, "\n"); strings.ContainsRune(line, 0) {
		sh.status = 126
		sh.write(2, name+": "+name+": cannot execute binary file\n")
		return nil, "", false
	}
	return &parse.Source{Text: text, Name: name, First: 1}, "file", true
}

// Program returns bash as a program that keeps its state in s.
func (s *Session) Program(ctx context.Context, p *kernel.Process) int {
	return run(ctx, p, s)
}

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
