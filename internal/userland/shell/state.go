package shell

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/options"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/quote"
	"coderunner/internal/userland/shell/vars"
)

// Session are the variables, functions, aliases, options, traps, the status and the
// working directory of a shell, which another one goes on with. It is a script of
// declarations. The EXIT trap is not kept, for it has run; nor are jobs, and of
// descriptors only those of files: the processes at the other ends have ended.
type Session struct {
	// Typed reports whether somebody types the session's scripts, whose aliases are then
	// expanded.
	Typed bool
	// Keep reports whether the state is to be left.
	Keep bool
	// Before is the state to begin with, "" for none.
	Before string
	// After is the state that the shell leaves; Left reports whether it did, which a
	// shell that a limit or exec ended did not.
	After string
	Left  bool
	// Syntax is what the parser found wrong with the script, and Line where.
	Syntax string
	Line   int
	// Variables are those of After: names and types, sorted.
	Variables []Variable

	home string         // the working directory that the shell begins in
	std  [3]*memfs.File // its standard streams
}

// Variable is a variable or function of a session.
type Variable struct{ Name, Type string }

// lastStatus begins the line of a state that has $?.
const lastStatus = "# $? is "

// maxState bounds a session's state, in bytes.
const maxState = 64 << 20

// own are variables that each shell has of its own.
var own = strings.Fields("BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_VERSINFO BASH_VERSION BASH EUID UID PPID SHELLOPTS SHLVL HOSTNAME HOSTTYPE " +
	"MACHTYPE OSTYPE PWD OLDPWD _ OPTIND")

// problem notes an error of the parser. Where a here-document took the rest of the script
// that is what is wrong with it.
func (s *Session) problem(src *parse.Source, err error) {
	var pe syntax.ParseError
	if err != nil && src.Open != "" {
		s.Syntax, s.Line = src.Open+", which must begin its line", src.Opens
	} else if errors.As(err, &pe) {
		s.Syntax, s.Line = pe.Text, int(pe.Pos.Line())
	} else if err != nil {
		s.Syntax = err.Error()
	}
}

// leave describes the shell's state. It is called before the EXIT trap runs.
func (s *Session) leave(sh *shell) {
	if sh.Variables > maxState || sh.p.Kernel().Failure() != nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d\n", lastStatus, sh.status)
	b.WriteString(s.descriptors(sh))
	b.WriteString("cd -- " + quote.Word(sh.files.Dir) + " 2>/dev/null\n")
	s.Variables = nil
	for _, name := range sh.vars.Attributed() {
		v, in := sh.vars.Scope.Find(name)
		if slices.Contains(own, name) || in.Parent != nil {
			continue
		}
		if text, ok := sh.initial[name]; !ok || v.Kind != vars.Scalar || v.Str != text {
			s.Variables = append(s.Variables, Variable{name, v.TypeName()})
		}
		b.WriteString(v.Declaration(name, false) + "\n")
		if b.Len() > maxState {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sh.state.Functions)) {
		f := sh.state.Functions[name]
		b.WriteString(origin(f) + "function " + name + "() " + f.Text + "\n")
		if f.Exported {
			b.WriteString("export -f " + name + "\n")
		}
		s.Variables = append(s.Variables, Variable{name, "function"})
	}
	for _, name := range slices.Sorted(maps.Keys(sh.state.Aliases)) {
		b.WriteString("alias -- " + quote.Word(name+"="+sh.state.Aliases[name]) + "\n")
	}
	for _, x := range options.OfShopt {
		if *x.At(&sh.opts) != *x.At(&options.Defaults) {
			b.WriteString("shopt " + map[bool]string{true: "-s ", false: "-u "}[*x.At(&sh.opts)] + x.Name + "\n")
		}
	}
	for _, x := range options.OfSet {
		if *x.At(&sh.opts) != *x.At(&options.Defaults) {
			b.WriteString("set " + map[bool]string{true: "-o ", false: "+o "}[*x.At(&sh.opts) != options.Opposite(x.Name)] + x.Name + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sh.traps)) { // last, so that nothing here sets them off
		if name != "EXIT" {
			b.WriteString("trap -- " + quote.Word(sh.traps[name]) + " " + name + "\n")
		}
	}
	if b.Len() <= maxState {
		s.After, s.Left = b.String(), true
	}
}

// originOf begins the line of a state that has where the function behind it comes from.
const originOf = "# from "

// origin returns that line: the file, and the line of it at which the body begins.
func origin(f *parse.Function) string {
	if f.Src.Name == "" {
		return ""
	}
	return fmt.Sprintf("%s%d %q\n", originOf, f.Src.Line(int(f.Body.Pos().Line()))+f.Src.First-1, f.Src.Name)
}

// restoreOrigin makes the errors of a function of a state name the script that it comes from.
func restoreOrigin(f *parse.Function) {
	line, at := strings.Split(f.Src.Text, "\n"), int(f.Body.Pos().Line())
	if at < 2 || at > len(line) {
		return
	}
	origin, ok := strings.CutPrefix(line[at-2], originOf)
	var first int
	var name string
	if _, err := fmt.Sscanf(origin, "%d %q", &first, &name); !ok || err != nil {
		return
	}
	src := *f.Src
	src.Name, src.First = name, first-src.Line(at)+1
	f.Src = &src
}

// restore takes over a state. Errors of it are of no use to the script.
func (s *Session) restore(sh *shell) {
	sh.initial, s.home, s.std = map[string]string{}, sh.files.Dir, sh.files.Standard()
	for name, v := range sh.vars.Scope.Vars {
		sh.initial[name] = v.Str
	}
	if s.Before == "" {
		return
	}
	stderr := sh.files.FDs[2]
	delete(sh.files.FDs, 2)
	sh.runText(&parse.Source{Text: s.Before, First: 1}, "eval")
	for _, f := range sh.state.Functions {
		restoreOrigin(f)
	}
	if stderr != nil {
		sh.files.FDs[2] = stderr
	}
	s.reopen(sh)
	sh.status, sh.jump, sh.line = 0, jump{}, 0
	if rest, ok := strings.CutPrefix(s.Before, lastStatus); ok {
		number, _, _ := strings.Cut(rest, "\n")
		sh.status, _ = strconv.Atoi(number)
	}
	sh.pipeStatus, sh.lastArg = []int{0}, ""
}

// fdLine begins a line of a state that has a descriptor of exec 3>file: its number, and
// either the standard stream that it is, or the file's flags, its position and its path.
const fdLine = "# fd "

// descriptors describes the descriptors from 3 on that are files of the session's
// directory or its standard streams. Others end with the call, and so does what exec
// made of the standard streams: each call has its own.
func (s *Session) descriptors(sh *shell) string {
	var b strings.Builder
	var paths map[*memfs.Node]string
	for fd := 3; fd <= files.MaxFD; fd++ {
		f := sh.files.FDs[fd]
		if f == nil {
			continue
		}
		for n, std := range s.std {
			if f == std {
				fmt.Fprintf(&b, "%s%d %d\n", fdLine, fd, n)
			}
		}
		if f.Node() == nil || f.Node().Type() != abi.S_IFREG {
			continue
		}
		if paths == nil {
			paths = sh.files.Below(s.home)
		}
		at, e := f.SeekTo(0, io.SeekCurrent)
		if name, ok := paths[f.Node()]; ok && e == abi.OK && !strings.Contains(name, "\n") {
			fmt.Fprintf(&b, "%s%d %d %d %s\n", fdLine, fd, f.Flags()&(abi.O_ACCMODE|abi.O_APPEND), at, name)
		}
	}
	return b.String()
}

// reopen opens the descriptors of a state, as far as their files are still there.
func (s *Session) reopen(sh *shell) {
	_, rest, _ := strings.Cut(s.Before, "\n")
	for line := range strings.Lines(rest) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), fdLine)
		if !ok {
			return
		}
		words := strings.SplitN(line, " ", 4)
		var n [3]int64
		for i, w := range words[:min(3, len(words))] {
			n[i], _ = strconv.ParseInt(w, 10, 64)
		}
		fd := int(n[0])
		switch {
		case fd < 3 || fd > files.MaxFD:
		case len(words) == 2 && n[1] >= 0 && n[1] < 3 && s.std[n[1]] != nil:
			sh.files.Set(fd, s.std[n[1]].Ref())
		case len(words) == 4 && path.IsAbs(words[3]):
			f, e := sh.files.Open(sh.ctx, words[3], uint32(n[1])&(abi.O_ACCMODE|abi.O_APPEND), 0)
			if e != abi.OK {
				continue
			}
			f.SeekTo(n[2], io.SeekStart)
			sh.files.Set(fd, f)
		}
	}
}
