package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/kernel"
	"coderunner/pyodide/abi"
)

// job is a background process of the shell.
type job struct {
	pid    int
	text   string
	hidden bool // a process substitution
	done   bool
	status int
	waited bool // for it alone: jobs does not show it
}

// maxJobs bounds the ended jobs that are remembered.
const maxJobs = 1000

func (sh *shell) addJob(pid int, text string) {
	if len(sh.jobs) >= maxJobs {
		sh.jobs = slices.DeleteFunc(sh.jobs, func(j *job) bool { return j.done })
	}
	sh.jobs = append(sh.jobs, &job{pid: pid, text: strings.TrimSuffix(strings.TrimSpace(text), "&")})
	sh.lastJob = pid
}

// start starts a command that will be waited for in the foreground.
func (sh *shell) start(e kernel.Exec) (*kernel.Process, error) {
	sh.setForeground(true)
	c, err := sh.p.Start(e)
	if err != nil {
		sh.setForeground(false)
	}
	return c, err
}

func (sh *shell) setForeground(on bool) {
	sh.task.mu.Lock()
	defer sh.task.mu.Unlock()
	sh.foreground, sh.interrupted = on, false
}

// await waits for a child and returns its status. A queued signal ends the wait of
// the builtin wait, and that of any command if it ends the shell: the status is
// 128 and its number. SIGINT ends the shell if it ended the command that was waited
// for: one that handles it is as if nothing had come.
func (sh *shell) await(pid int, interruptible bool) int {
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
		return 128 + int(s)
	}
	w, e = sh.p.Wait(ctx, pid, 0)
	if e != abi.OK {
		if s := sh.next(); s != 0 {
			return 128 + int(s)
		}
		return 127
	}
	if s := w.Status.Signal(); s != 0 && !interruptible && sh.ctx.Err() == nil {
		if text := signalText(s); text != "" {
			sh.write(2, fmt.Sprintf("%s%5d %-23s %s\n", sh.prefix(), pid, text, strings.TrimSpace(sh.lineText())))
		}
	}
	return w.Status.Code()
}

// lineText returns the line of the script that is executed.
func (sh *shell) lineText() string {
	lines := strings.Split(sh.src.text, "\n")
	if at := sh.line - sh.src.first; at >= 0 && at < len(lines) {
		return lines[at]
	}
	return ""
}

// job returns the job of an operand: %1, %+, %-, %name or a pid.
func (sh *shell) job(s string) *job {
	n := len(sh.jobs)
	rest, is := strings.CutPrefix(s, "%")
	number, err := strconv.Atoi(rest)
	switch {
	case is && (rest == "" || rest == "+" || rest == "%") && n > 0:
		return sh.jobs[n-1]
	case is && rest == "-" && n > 1:
		return sh.jobs[n-2]
	case is && err == nil && number >= 1 && number <= n:
		return sh.jobs[number-1]
	case is:
		for _, j := range sh.jobs {
			if strings.HasPrefix(j.text, rest) && rest != "" {
				return j
			}
		}
	case err == nil:
		for _, j := range sh.jobs {
			if j.pid == number {
				return j
			}
		}
	}
	return nil
}

// collect waits for a job.
func (sh *shell) collect(j *job) int {
	if !j.done {
		status := sh.await(j.pid, true)
		if s := sh.next(); s != 0 {
			return status
		}
		j.done, j.status = true, status
	}
	return j.status
}

func (sh *shell) wait(args []string) int {
	any, into := false, ""
	args = args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-n":
			any = true
		case args[0] == "-p" && len(args) > 1:
			into, args = args[1], args[1:]
		case args[0] == "-f":
		case args[0] == "--":
		default:
			return sh.usage("wait", args[0]+": invalid option", "wait [-fn] [-p var] [id ...]")
		}
		args = args[1:]
	}
	if any {
		return sh.waitAny(into)
	}
	if len(args) == 0 {
		for _, j := range sh.jobs {
			if n := sh.collect(j); sh.next() != 0 {
				return n
			}
		}
		sh.jobs = nil
		return 0
	}
	status := 0
	for _, a := range args {
		j := sh.job(a)
		if j == nil {
			if status = 127; strings.HasPrefix(a, "%") {
				sh.errorf("wait: %s: no such job", a)
			} else if _, err := strconv.Atoi(a); err != nil {
				sh.errorf("wait: `%s': not a pid or valid job spec", a)
				status = 1
			} else {
				sh.errorf("wait: pid %s is not a child of this shell", a)
			}
			continue
		}
		status = sh.collect(j)
		j.waited = j.done
	}
	return status
}

// waitAny waits for the next job that ends.
func (sh *shell) waitAny(into string) int {
	if !slices.ContainsFunc(sh.jobs, func(j *job) bool { return !j.done }) {
		return 127
	}
	for {
		w, e := sh.p.Wait(sh.ctx, -1, 0)
		if e != abi.OK {
			return 127
		}
		for i, j := range sh.jobs {
			if j.pid == w.PID {
				sh.jobs = slices.Delete(sh.jobs, i, i+1)
				if into != "" && sh.set(into, strconv.Itoa(w.PID)) != nil {
					return 1
				}
				return w.Status.Code()
			}
		}
	}
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
	for i, j := range sh.parentJobs { // which the parent waits for
		if p := sh.p.Kernel().Process(j.pid); !j.done && p != nil {
			ended := *j
			var s kernel.Status
			s, ended.done = p.Status()
			ended.status, sh.parentJobs[i] = s.Code(), &ended
		}
	}
}

func (sh *shell) jobsBuiltin(args []string) int {
	sh.poll()
	var b strings.Builder
	only := slices.Contains(args, "-p")
	list := sh.jobs
	if len(list) == 0 {
		list = sh.parentJobs
	}
	for i, j := range list {
		if j.hidden || j.waited {
			continue
		}
		state, mark := "Running", " "
		if j.done {
			if state = "Done"; j.status != 0 {
				state = fmt.Sprintf("Exit %d", j.status)
			}
			if slices.Contains(args, "-r") {
				continue
			}
		}
		if i == len(list)-1 {
			mark = "+"
		} else if i == len(list)-2 {
			mark = "-"
		}
		text := strings.TrimSpace(j.text)
		if !j.done {
			text += " &"
		}
		if only {
			fmt.Fprintln(&b, j.pid)
		} else if slices.Contains(args, "-l") {
			fmt.Fprintf(&b, "[%d]%s %d %-24s%s\n", i+1, mark, j.pid, state, text)
		} else {
			fmt.Fprintf(&b, "[%d]%s  %-24s%s\n", i+1, mark, state, text)
		}
	}
	if !only {
		sh.jobs = slices.DeleteFunc(sh.jobs, func(j *job) bool { return j.done })
	}
	return sh.print("jobs", b.String())
}

func (sh *shell) kill(args []string) int {
	args = args[1:]
	sig := kernel.SIGTERM
	if len(args) > 0 && (args[0] == "-l" || args[0] == "-L") {
		return sh.listSignals(args[1:])
	}
	if len(args) > 1 && (args[0] == "-s" || args[0] == "-n") {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		s, ok := kernel.ParseSignal(args[0][1:])
		if !ok {
			sh.errorf("kill: %s: invalid signal specification", args[0][1:])
			return 1
		}
		sig, args = s, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return sh.usage("kill", "", "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]")
	}
	status := 0
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if strings.HasPrefix(a, "%") {
			j := sh.job(a)
			if j == nil {
				sh.errorf("kill: %s: no such job", a)
				status = 1
				continue
			}
			pid = j.pid
		} else if err != nil {
			sh.errorf("kill: %s: arguments must be process or job IDs", a)
			status = 1
			continue
		}
		e := sh.p.Kill(pid, sig)
		if e == abi.ESRCH && sh.isOurs(pid) {
			e = abi.OK
		}
		if e != abi.OK {
			text := message(e)
			if e == abi.EOPNOTSUPP {
				text = "a process cannot be stopped here, only ended: use TERM or KILL"
			}
			sh.errorf("kill: (%d) - %s", pid, text)
			status = 1
		}
	}
	return status
}

// isOurs reports whether a pid is a job's that nobody has waited for.
func (sh *shell) isOurs(pid int) bool {
	return slices.ContainsFunc(sh.jobs, func(j *job) bool { return j.pid == pid && !j.done })
}
