package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/builtins"
	"coderunner/internal/userland/shell/files"
)

// maxJobs bounds the ended jobs that are remembered.
const maxJobs = 1000

func (sh *shell) addJob(pid int, text string) *job {
	if len(sh.jobs) >= maxJobs {
		sh.forget(func(j *job) bool { return j.done })
	}
	number := 1
	for _, j := range sh.jobs {
		if !j.hidden {
			number = j.number + 1
		}
	}
	j := &job{pid: pid, number: number, text: strings.TrimSuffix(strings.TrimSpace(text), "&"), listed: new(atomic.Bool)}
	sh.jobs = append(sh.jobs, j)
	sh.lastJob = pid
	return j
}

// forget takes ended jobs out of what jobs shows. Wait still finds their pids.
func (sh *shell) forget(which func(*job) bool) {
	sh.jobs = slices.DeleteFunc(sh.jobs, func(j *job) bool {
		if !which(j) {
			return false
		}
		sh.pastJobs = append(sh.pastJobs, j)
		return true
	})
	sh.pastJobs = sh.pastJobs[max(0, len(sh.pastJobs)-maxJobs):]
}

// start starts a command that will be waited for in the foreground.
func (t *task) start(e kernel.Exec) (*kernel.Process, error) {
	t.setForeground(true)
	c, err := t.p.Start(e)
	if err != nil {
		t.setForeground(false)
	}
	return c, err
}

func (t *task) setForeground(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.foreground, t.interrupted = on, false
}

// await waits for a child, or any with -1, and returns its status. A queued signal ends the wait of
// the builtin wait, and that of any command if it ends the shell: the status is
// 128 and its number. SIGINT ends the shell if it ended the command that was waited
// for: one that handles it is as if nothing had come.
func (sh *shell) await(pid int, interruptible bool) int {
	_, status := sh.awaitChild(pid, interruptible)
	return status
}

// awaitChild is await that returns which child it was, 0 without one.
func (sh *shell) awaitChild(pid int, interruptible bool) (child, status int) {
	ctx, cancel := context.WithCancel(sh.ctx)
	defer cancel()
	sh.task.mu.Lock()
	sh.task.wake = func() {
		if interruptible || sh.fatal() != 0 {
			cancel()
		}
	}
	sh.interrupted = sh.interrupted && sh.foreground
	sh.foreground = !interruptible
	late := (sh.interrupted || slices.Contains(sh.pending, kernel.SIGINT)) && !interruptible
	sh.task.mu.Unlock()
	if late { // it may have come before the command was there
		if c := sh.p.Kernel().Process(pid); c != nil && !c.Received(kernel.SIGINT) {
			sh.p.Kill(pid, kernel.SIGINT)
		}
	}
	var w kernel.Waited
	var e abi.Errno
	defer func() {
		sh.task.mu.Lock()
		defer sh.task.mu.Unlock()
		sh.task.wake, sh.foreground = nil, false
		if sh.interrupted && w.Status.Signal() == kernel.SIGINT {
			sh.p.Die(kernel.SIGINT)
		}
	}()
	if s := sh.next(); s != 0 && interruptible {
		return 0, 128 + int(s)
	}
	w, e = sh.p.Wait(ctx, pid, 0)
	if e != abi.OK {
		if s := sh.fatal(); s != 0 && !sh.shared {
			sh.die(s)
			return 0, sh.status
		}
		if s := sh.next(); s != 0 {
			return 0, 128 + int(s)
		}
		return 0, 127
	}
	if s := w.Status.Signal(); s != 0 && !interruptible && sh.ctx.Err() == nil {
		if text := signalText(s); text != "" {
			sh.write(2, fmt.Sprintf("%s%5d %-23s %s\n", sh.prefix(), pid, text, strings.TrimSpace(sh.src.LineText(sh.line))))
		}
	}
	return w.PID, w.Status.Code()
}

// job returns the job of an operand: %1, %+, %-, %name or a pid.
func (sh *shell) job(s string) *job {
	var shown []*job
	for _, j := range sh.jobs {
		if !j.hidden {
			shown = append(shown, j)
		}
	}
	n := len(shown)
	rest, is := strings.CutPrefix(s, "%")
	number, err := strconv.Atoi(rest)
	switch {
	case is && (rest == "" || rest == "+" || rest == "%") && n > 0:
		return shown[n-1]
	case is && rest == "-" && n > 1:
		return shown[n-2]
	case is:
		for _, j := range shown {
			if err == nil && j.number == number || err != nil && rest != "" && strings.HasPrefix(j.text, rest) {
				return j
			}
		}
	case err == nil:
		if i := slices.IndexFunc(sh.jobs, func(j *job) bool { return j.pid == number }); i >= 0 {
			return sh.jobs[i]
		}
	}
	return nil
}

// child returns the job of an operand of wait, which may have been forgotten.
func (sh *shell) child(s string) *job {
	if j := sh.job(s); j != nil {
		return j
	}
	pid, err := strconv.Atoi(s)
	if i := slices.IndexFunc(sh.pastJobs, func(j *job) bool { return j.pid == pid }); i >= 0 && err == nil {
		return sh.pastJobs[i]
	}
	return nil
}

// poll looks which jobs have ended.
func (sh *shell) poll() {
	for _, j := range sh.jobs {
		if !j.done {
			if w, e := sh.p.Wait(sh.ctx, j.pid, kernel.NoHang); e == abi.OK && w.PID != 0 {
				j.done, j.status = true, w.Status.Code()
			}
		}
	}
	for i := range sh.parentJobs { // which the parent waits for
		if j := &sh.parentJobs[i]; !j.done {
			p := sh.p.Kernel().Process(j.pid)
			if j.done = p == nil; p != nil {
				var s kernel.Status
				s, j.done = p.Status()
				j.status = s.Code()
			}
		}
	}
}

// listing is what the options of jobs select.
type listing struct{ pids, running, long bool }

func listJobs(sh *shell, flags builtins.Flags, _ []string) int {
	l := listing{flags.On('p'), flags.On('r'), flags.On('l')}
	stopped := flags.On('s') || flags.On('n')
	sh.poll()
	list := slices.Clone(sh.jobs)
	if len(list) == 0 {
		for i := range sh.parentJobs {
			list = append(list, &sh.parentJobs[i])
		}
	}
	list = slices.DeleteFunc(list, func(j *job) bool { return j.hidden })
	var b strings.Builder
	for i, j := range list {
		if stopped || j.done && (l.running || !sh.showsEnded(j, l.pids)) {
			continue
		}
		mark := " "
		if i >= len(list)-2 {
			mark = "-+"[i-len(list)+2 : i-len(list)+3]
		}
		b.WriteString(l.line(j, mark))
	}
	if !l.pids && !l.running && !stopped {
		sh.forget(func(j *job) bool { return j.done })
	}
	return sh.print("jobs", b.String())
}

// showsEnded reports whether jobs shows a job that has ended. In a subshell it does
// not, so that a loop that counts jobs ends; but the first $(jobs -p) does, for a loop
// that waits for each.
func (sh *shell) showsEnded(j *job, pids bool) bool {
	return len(sh.jobs) > 0 || pids && sh.shared && !j.listed.Swap(true)
}

func (l listing) line(j *job, mark string) string {
	state, text := "Running", strings.TrimSpace(j.text)
	switch {
	case !j.done:
		text += " &"
	case j.status == 0:
		state = "Done"
	default:
		state = fmt.Sprintf("Exit %d", j.status)
	}
	switch {
	case l.pids:
		return fmt.Sprintln(j.pid)
	case l.long:
		return fmt.Sprintf("[%d]%s %d %-24s%s\n", j.number, mark, j.pid, state, text)
	}
	return fmt.Sprintf("[%d]%s  %-24s%s\n", j.number, mark, state, text)
}

func kill(sh *shell, args []string) int {
	args = args[1:]
	sig := kernel.SIGTERM
	if len(args) > 0 && (args[0] == "-l" || args[0] == "-L") {
		return builtins.ListSignals(face{sh}, args[1:])
	}
	if len(args) > 1 && (args[0] == "-s" || args[0] == "-n") {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		s, ok := kernel.ParseSignal(args[0][1:])
		if !ok {
			return sh.fail("kill: %s: invalid signal specification", args[0][1:])
		}
		sig, args = s, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return builtins.Usage(face{sh}, "kill", "")
	}
	status := 0
	sh.poll()
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if strings.HasPrefix(a, "%") {
			j := sh.job(a)
			if j == nil {
				status = sh.fail("kill: %s: no such job", a)
				continue
			}
			if pid = j.pid; j.done {
				continue
			}
		} else if err != nil {
			status = sh.fail("kill: %s: arguments must be process or job IDs", a)
			continue
		}
		if e := sh.p.Kill(pid, sig); e != abi.OK {
			text := files.Message(e)
			if e == abi.EOPNOTSUPP {
				text = "a process cannot be stopped here, only ended: use TERM or KILL"
			}
			status = sh.fail("kill: (%d) - %s", pid, text)
		}
	}
	return status
}
