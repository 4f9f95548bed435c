package shell

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/quote"
)

// signal takes a signal that is sent to the process. It runs in the sender's
// goroutine.
func (t *task) signal(s kernel.Signal) bool {
	trapped := t.trapped.Load()>>s&1 != 0
	if !trapped && s != kernel.SIGINT {
		return false
	}
	t.mu.Lock()
	if !trapped {
		defer t.mu.Unlock()
		t.interrupted = t.foreground
		return t.foreground
	}
	if !slices.Contains(t.pending, s) {
		t.pending = append(t.pending, s)
	}
	wake := t.wake
	t.mu.Unlock()
	if wake != nil {
		wake()
	}
	return true
}

// next returns the signal that was queued first, 0 without one.
func (t *task) next() kernel.Signal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) == 0 {
		return 0
	}
	return t.pending[0]
}

// fatal returns a queued signal that only the EXIT trap was set for.
func (t *task) fatal() kernel.Signal {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.pending {
		if t.untrapped.Load()>>s&1 != 0 {
			return s
		}
	}
	return 0
}

// runTraps runs what the queued signals were trapped with.
func (sh *shell) runTraps() {
	if sh.trapping {
		return
	}
	for sh.jump.kind != exits {
		sh.task.mu.Lock()
		if len(sh.pending) == 0 {
			sh.task.mu.Unlock()
			return
		}
		s := sh.pending[0]
		if _, own := sh.traps[kernel.SignalNames[s]]; sh.shared && !own { // it is the parent's
			sh.task.mu.Unlock()
			if sh.untrapped.Load()>>s&1 != 0 {
				sh.status, sh.jump = 128+int(s), jump{kind: exits}
			}
			return
		}
		sh.pending = sh.pending[1:]
		sh.task.mu.Unlock()
		switch text, ok := sh.traps[kernel.SignalNames[s]]; {
		case text != "":
			sh.trap(text)
		case !ok && s != kernel.SIGCHLD:
			sh.die(s)
		}
	}
}

// die ends the shell by a signal. The EXIT trap sees the status of the command before, as
// in bash, and does not change what the shell ends with.
func (sh *shell) die(s kernel.Signal) { sh.killed, sh.jump = s, jump{kind: exits} }

// hideTraps returns the traps that a function does not inherit, which are not set
// while it runs.
func (sh *shell) hideTraps() (hidden map[string]string) {
	if len(sh.traps) == 0 {
		return nil
	}
	hide := func(name string, inherited bool) {
		if s := sh.traps[name]; s != "" && !inherited {
			if hidden == nil {
				hidden = map[string]string{}
			}
			hidden[name] = s
			delete(sh.traps, name)
		}
	}
	hide("ERR", sh.opts.Errtrace)
	hide("DEBUG", sh.opts.Functrace)
	hide("RETURN", sh.opts.Functrace)
	return hidden
}

// debugHead is debug for the head of a loop or case.
func (sh *shell) debugHead(c syntax.Command) {
	if sh.traps["DEBUG"] == "" || sh.trapping {
		return
	}
	sh.current, sh.currentSrc = &syntax.Stmt{Cmd: c}, sh.src
	sh.trap(sh.traps["DEBUG"])
}

// trap runs the text of a trap. The status is as it was, unless the trap exits.
func (sh *shell) trap(text string) {
	status, each, quiet, line := sh.status, sh.pipeStatus, sh.quiet, sh.line
	sh.trapping, sh.trapStatus, sh.quiet = true, status, 0
	sh.evalText(text)
	sh.trapping, sh.quiet = false, quiet
	if sh.jump.kind == 0 {
		sh.status, sh.pipeStatus = status, each
	}
	sh.line = line
}

// trapSignals tells the kernel which signals are queued for traps. While there is
// an EXIT trap, those that would end the shell are queued, too.
func (sh *shell) trapSignals() {
	var bits, untrapped uint64
	for name, text := range sh.traps {
		if s, ok := kernel.ParseSignal(name); ok && text != "" {
			bits |= 1 << s
		}
	}
	if sh.traps["EXIT"] != "" {
		untrapped = (1<<kernel.SIGHUP | 1<<kernel.SIGINT | 1<<kernel.SIGTERM) &^ bits
	}
	sh.untrapped.Store(untrapped)
	sh.trapped.Store(bits | untrapped)
}

// trapSet is trap.
func trapSet(sh *shell, args []string) int {
	args = args[1:]
	if len(args) > 0 && args[0] == "-l" {
		return builtins.ListSignals(face{sh}, nil)
	}
	show := len(args) == 0
	if len(args) > 0 && args[0] == "-p" {
		show, args = true, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if show {
		return showTraps(sh, args)
	}
	sh.parentTraps = nil
	action, names := args[0], args[1:]
	if _, err := strconv.ParseUint(action, 10, 16); len(args) == 1 || err == nil {
		action, names = "-", args
	}
	status := 0
	for _, name := range names {
		name, ok := trapName(name)
		if !ok {
			status = sh.fail("trap: %s: invalid signal specification", name)
			continue
		}
		s, isSignal := kernel.ParseSignal(name)
		if action == "-" {
			delete(sh.traps, name)
		} else {
			sh.traps[name] = action
		}
		if isSignal && s != kernel.SIGKILL && s != kernel.SIGSTOP {
			sh.p.Ignore(s, action == "")
		}
	}
	sh.trapSignals()
	return status
}

// trapName returns the name of what can be trapped: EXIT, ERR, DEBUG, RETURN or a
// signal.
func trapName(s string) (string, bool) {
	switch up := strings.ToUpper(s); up {
	case "EXIT", "ERR", "DEBUG", "RETURN":
		return up, true
	}
	n, ok := kernel.ParseSignal(s)
	if !ok || int(n) >= len(kernel.SignalNames) {
		return s, false
	}
	return kernel.SignalNames[n], true
}

func showTraps(sh *shell, names []string) int {
	var b strings.Builder
	traps := sh.traps
	if sh.parentTraps != nil {
		traps = sh.parentTraps
	}
	order := slices.Concat(kernel.SignalNames, []string{"DEBUG", "ERR", "RETURN"})
	if len(names) == 0 {
		names = slices.SortedFunc(maps.Keys(traps), func(a, b string) int {
			return slices.Index(order, a) - slices.Index(order, b)
		})
	}
	for _, name := range names {
		name, _ := trapName(name)
		text, ok := traps[name]
		if !ok {
			continue
		}
		if _, is := kernel.ParseSignal(name); is {
			name = "SIG" + name
		}
		fmt.Fprintf(&b, "trap -- %s %s\n", quote.Single(text), name)
	}
	return sh.print("trap", b.String())
}

// finish runs the EXIT trap and returns the exit status.
func (sh *shell) finish() int {
	if sh.jump.kind != exits {
		sh.runTraps()
	}
	if s := sh.traps["EXIT"]; s != "" && sh.ctx.Err() == nil {
		delete(sh.traps, "EXIT")
		sh.jump = jump{}
		status := sh.status
		sh.trapping, sh.trapStatus = true, status
		sh.levels-- // the trap is no eval
		sh.evalText(s)
		if sh.jump.kind != exits {
			sh.status = status
		}
	}
	sh.files.Close()
	if sh.killed != 0 {
		return 128 + int(sh.killed)
	}
	return sh.status & 0xff
}

// newTask returns the task of a process.
func newTask(ctx context.Context, p *kernel.Process) *task {
	t := &task{p: p, ctx: ctx}
	t.Memory.FS = p.FS()
	p.Handle(t.signal)
	p.Reaps()
	return t
}
