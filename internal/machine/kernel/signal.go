package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
)

// Signal is a signal's number, as Linux has it.
type Signal uint8

// The signals that the host sends or treats by name.
const (
	SIGHUP   Signal = 1
	SIGINT   Signal = 2
	SIGKILL  Signal = 9
	SIGPIPE  Signal = 13
	SIGTERM  Signal = 15
	SIGCHLD  Signal = 17
	SIGCONT  Signal = 18
	SIGSTOP  Signal = 19
	SIGTTOU  Signal = 22
	SIGURG   Signal = 23
	SIGWINCH Signal = 28
)

const maxSignal = 64

// SignalNames are the signals' names, by number; EXIT is a shell's.
var SignalNames = strings.Fields("EXIT HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP " +
	"TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")

// ParseSignal returns the signal of a name, with or without SIG, or a number.
func ParseSignal(s string) (Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return Signal(n), n >= 0 && n <= maxSignal
	}
	i := slices.Index(SignalNames, strings.TrimPrefix(strings.ToUpper(s), "SIG"))
	return Signal(max(0, i)), i > 0
}

// Status is how a process ended, as wait(2) encodes it.
type Status uint32

// Exited returns the status of a process that exited with a code.
func Exited(code int) Status { return Status(code&0xff) << 8 }

// Signalled returns the status of a process that a signal ended.
func Signalled(s Signal) Status { return Status(s) & 0x7f }

// Signal returns the signal that ended the process, or 0.
func (s Status) Signal() Signal { return Signal(s & 0x7f) }

// Code returns the exit status as a shell has it: 128 and the signal's number for
// a process that a signal ended.
func (s Status) Code() int {
	if sig := s.Signal(); sig != 0 {
		return 128 + int(sig)
	}
	return int(s >> 8 & 0xff)
}

// Killed is the cause of the context of a process that a signal ends.
type Killed struct{ Signal Signal }

func (e *Killed) Error() string { return fmt.Sprintf("ended by signal %d", e.Signal) }

// Handle has f called with each signal that is sent to the process, except
// SIGKILL, on the sender's goroutine. f reports whether it took it; else the
// default action follows. It must neither wait nor call the kernel. Nil: the default
// actions.
func (p *Process) Handle(f func(Signal) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler = f
}

// Ignore has a signal ignored, also by the children that are started from then on,
// or not.
func (p *Process) Ignore(s Signal, ignore bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ignored &^= 1 << s; ignore {
		p.ignored |= 1 << s
	}
}

// Received reports whether the process was sent a signal.
func (p *Process) Received(s Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received>>s&1 != 0
}

// deliver delivers a signal to the process.
func (p *Process) deliver(s Signal) {
	p.mu.Lock()
	p.received |= 1 << s
	handler := p.handler
	ignored := p.ignored>>s&1 != 0
	p.mu.Unlock()
	switch {
	case s == SIGKILL:
	case ignored, handler != nil && handler(s):
		return
	case s == SIGCHLD, s == SIGCONT, s == SIGURG, s == SIGWINCH:
		return
	}
	p.end(s)
}

// end ends the process by a signal.
func (p *Process) end(s Signal) {
	p.mu.Lock()
	p.killed = cmp.Or(p.killed, s)
	p.mu.Unlock()
	p.stop(&Killed{s})
}

// stop ends the context of the process's program.
func (p *Process) stop(cause error) {
	p.mu.Lock()
	cancel := p.cancel
	p.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// Die ends the process by a signal, whatever it does about that: its program has to
// return.
func (p *Process) Die(s Signal) { p.end(s) }

// Kill is kill(2): pid is a process, 0 the sender's group, -1 all processes but
// the sender, and others the group -pid. Signal 0 sends nothing.
func (p *Process) Kill(pid int, s Signal) abi.Errno {
	switch {
	case s > maxSignal:
		return abi.EINVAL
	case s >= SIGSTOP && s <= SIGTTOU:
		return abi.EOPNOTSUPP
	case pid == initPID:
		return abi.EPERM
	}
	k := p.k
	k.mu.Lock() // until all have it: a child that starts meanwhile would have none
	defer k.mu.Unlock()
	e := abi.ESRCH
	for _, t := range k.processes {
		if k.reapedLocked(t) {
			continue
		}
		switch {
		case pid > 0 && t.pid == pid,
			pid == 0 && t.group == p.group,
			pid == -1 && t != p,
			pid < -1 && t.group == -pid:
			e = abi.OK
			if s != 0 && !t.exited {
				t.deliver(s)
			}
		}
	}
	return e
}

// Signal sends the process a signal of the host. SIGINT is a terminal's, which all of
// the group get.
func (p *Process) Signal(s Signal) {
	pid := p.pid
	if s == SIGINT {
		pid = 0
	}
	p.Kill(pid, s)
}

// SetGroup is setpgid(2): it moves the process or a child of it, by its pid or 0,
// to a group, or to one of its own for 0.
func (p *Process) SetGroup(pid, group int) abi.Errno {
	k := p.k
	k.mu.Lock()
	defer k.mu.Unlock()
	t := p
	if pid != 0 && pid != p.pid {
		if t = k.processes[pid]; t == nil || t.parent != p.pid {
			return abi.ESRCH
		}
	}
	group = cmp.Or(group, t.pid)
	if t.session == t.pid || t.session != p.session || group != t.pid && !k.hasGroupLocked(group, t.session) {
		return abi.EPERM
	}
	t.group = group
	return abi.OK
}

// SetSession is setsid(2).
func (p *Process) SetSession() abi.Errno {
	k := p.k
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.processes {
		if t.group == p.pid {
			return abi.EPERM
		}
	}
	p.group, p.session = p.pid, p.pid
	return abi.OK
}
