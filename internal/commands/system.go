package commands

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/kernel"
	"coderunner/pyodide/abi"
)

func pwd(c *call) int {
	o, status := c.options("L,logical P,physical")
	if o == nil {
		return status
	}
	dir := c.canonical(".", true)
	if p := c.env("PWD"); o.on("L") && p != "" && c.canonical(p, true) == dir {
		dir = p
	}
	if dir == "" {
		return c.die(1, "couldn't find directory entry in '..' with matching i-node")
	}
	c.print(dir + "\n")
	return 0
}

func env(c *call) int {
	o, status := c.options("+ i,ignore-environment 0,null u,unset= C,chdir= S,split-string= v,debug !block-signal=? !default-signal=? !ignore-signal=?")
	if o == nil {
		return status
	}
	args := o.args
	if s := o.value("S", ""); s != "" {
		args = append(strings.Fields(s), args...)
	}
	var vars []string
	if len(args) > 0 && args[0] == "-" {
		args = args[1:]
	} else if !o.on("i") {
		vars = slices.Clone(c.p.Env)
	}
	unset := func(name string) {
		vars = slices.DeleteFunc(vars, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	for _, name := range o.values("u") {
		if name == "" || strings.Contains(name, "=") {
			return c.die(125, "cannot unset %s: Invalid argument", quote(name))
		}
		unset(name)
	}
	for ; len(args) > 0 && strings.Contains(args[0], "="); args = args[1:] {
		name, _, _ := strings.Cut(args[0], "=")
		unset(name)
		vars = append(vars, args[0])
	}
	if len(args) == 0 {
		for _, e := range vars {
			c.print(e)
			c.out.WriteByte(lineEnd(o.on("0")))
		}
		return 0
	}
	dir := ""
	if to := o.value("C", ""); to != "" {
		if !c.isDir(to) {
			return c.die(125, "cannot change directory to %s: No such file or directory", quote(to))
		}
		dir = c.canonical(to, true)
	}
	if vars == nil {
		vars = []string{}
	}
	return c.instead(child{args: args, env: vars, dir: dir})
}

// instead runs a command in the place of this one.
func (c *call) instead(ch child) int {
	status, err := c.run(ch)
	if err != nil {
		c.errorf("%s: %s", quote(ch.args[0]), text(err))
	}
	return status
}

func printenv(c *call) int {
	o, status := c.options("+ 0,null")
	if o == nil {
		return status
	}
	end := lineEnd(o.on("0"))
	if len(o.args) == 0 {
		for _, e := range c.p.Env {
			c.printf("%s%c", e, end)
		}
		return 0
	}
	for _, name := range o.args {
		at := slices.IndexFunc(c.p.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if at < 0 {
			c.status = 1
			continue
		}
		c.printf("%s%c", c.p.Env[at][len(name)+1:], end)
	}
	return c.status
}

func which(c *call) int {
	o, status := c.options("a s")
	if o == nil {
		return status
	}
	for _, name := range o.args {
		names, found := []string{name}, false
		if o.on("a") && !strings.Contains(name, "/") {
			names = nil
			for _, dir := range strings.Split(cmp.Or(c.env("PATH"), kernel.DefaultPath), ":") {
				names = append(names, joinPath(cmp.Or(dir, "."), name))
			}
		}
		for _, name := range names {
			path, e := c.p.Kernel().LookPath(name, c.dir, c.p.Env)
			if found = found || e == abi.OK; e == abi.OK && !o.on("s") {
				c.print(path + "\n")
			}
		}
		if !found {
			c.status = 1
		}
	}
	return c.status
}

// duration reads a number with the suffix s, m, h or d.
func duration(s string) (time.Duration, bool) {
	unit, number := time.Second, s
	if s != "" {
		if u := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]; u != 0 {
			unit, number = u, s[:len(s)-1]
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || math.IsNaN(f) {
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(math.MaxInt64)/2)), true
}

func sleep(c *call) int {
	o, status := c.options("")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	var total time.Duration
	for _, a := range o.args {
		d, ok := duration(a)
		if !ok {
			return c.usage(1, "invalid time interval %s", quote(a))
		}
		total = max(total, min(total+d, math.MaxInt64/2))
	}
	timer := time.NewTimer(total)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0
	case <-c.ctx.Done():
		return 1
	}
}

func timeout(c *call) int {
	o, status := c.options("+ foreground k,kill-after= s,signal= preserve-status v,verbose")
	if o == nil {
		return status
	}
	if len(o.args) < 2 {
		c.warnf("Try 'timeout --help' for more information.\n")
		return 125
	}
	limit, ok := duration(o.args[0])
	if !ok {
		return c.usage(125, "invalid time interval %s", quote(o.args[0]))
	}
	sig, ok := signalNumber(o.value("s", "TERM"))
	if !ok {
		return c.usage(125, "%s: invalid signal", quote(o.value("s", "")))
	}
	after, ok := duration(o.value("k", "0"))
	if !ok {
		return c.usage(125, "invalid time interval %s", quote(o.value("k", "")))
	}
	p, err := c.start(child{args: o.args[1:]})
	if err != nil {
		return c.die(notStarted(err), "failed to run command %s: %s", quote(o.args[1]), text(err))
	}
	s, done, killed := c.await(p, limit, sig, after)
	switch {
	case !done:
		return 128 + int(kernel.SIGKILL)
	case !killed || o.on("preserve-status"):
		return s.Code()
	case s.Signal() == kernel.SIGKILL:
		return 128 + int(kernel.SIGKILL)
	}
	if o.on("v") {
		c.errorf("sending signal %s to command %s", signalNames[sig], quote(o.args[1]))
	}
	return 124
}

// await waits for a child, which gets a signal after a time, and SIGKILL after
// another one if that is not 0.
func (c *call) await(p *kernel.Process, limit time.Duration, sig kernel.Signal, after time.Duration) (s kernel.Status, done, killed bool) {
	ctx := c.ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.ctx, limit)
		defer cancel()
	}
	if s, ok := c.wait(ctx, p); ok {
		return s, true, false
	}
	if c.ctx.Err() != nil {
		c.p.Kill(p.PID(), kernel.SIGKILL)
		return 0, false, false
	}
	c.p.Kill(p.PID(), sig)
	if after > 0 {
		ctx, cancel := context.WithTimeout(c.ctx, after)
		defer cancel()
		if s, ok := c.wait(ctx, p); ok {
			return s, true, true
		}
		c.p.Kill(p.PID(), kernel.SIGKILL)
	}
	s, done = c.wait(c.ctx, p)
	return s, done, true
}

func nohup(c *call) int {
	o, status := c.options("+")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		c.missing(o)
		return 125
	}
	c.p.Ignore(kernel.SIGHUP, true)
	return c.instead(child{args: o.args})
}

// nice runs a command: there are no priorities.
func nice(c *call) int {
	o, status := c.options("+ # n,adjustment=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		c.print("0\n")
		return 0
	}
	return c.instead(child{args: o.args})
}

// stdbuf runs a command: output is flushed as it is anyway.
func stdbuf(c *call) int {
	o, status := c.options("+ i,input= o,output= e,error=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	return c.instead(child{args: o.args})
}

// signalNames are Linux's signals by number.
var signalNames = strings.Fields("EXIT HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH POLL PWR SYS")

func signalNumber(s string) (kernel.Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n <= 64 {
		return kernel.Signal(n), true
	}
	at := slices.Index(signalNames, strings.TrimPrefix(strings.ToUpper(s), "SIG"))
	return kernel.Signal(max(at, 0)), at >= 0
}

func kill(c *call) int {
	args, sig := c.args, kernel.SIGTERM
	if len(args) > 0 {
		switch a := args[0]; {
		case a == "--help" || a == "--version":
			c.about(a[2:])
			return 0
		case a == "-l" || a == "--list" || a == "-L":
			return killList(c, args[1:])
		case (a == "-s" || a == "-n" || a == "--signal") && len(args) > 1:
			n, ok := signalNumber(args[1])
			if !ok {
				return c.usage(1, "%s: invalid signal", quote(args[1]))
			}
			sig, args = n, args[2:]
		case a == "--":
			args = args[1:]
		case len(a) > 1 && a[0] == '-':
			n, ok := signalNumber(a[1:])
			if !ok {
				return c.usage(1, "%s: invalid signal", quote(a[1:]))
			}
			sig, args = n, args[1:]
		}
	}
	if len(args) == 0 {
		return c.usage(1, "no process ID specified")
	}
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil {
			c.fail("%s: invalid process id", quote(a))
			continue
		}
		if e := c.p.Kill(pid, sig); e != abi.OK {
			c.fail("sending signal to %d failed: %s", pid, text(e))
		}
	}
	return c.status
}

func killList(c *call, args []string) int {
	if len(args) == 0 {
		c.print(strings.Join(signalNames[1:], "\n") + "\n")
	}
	for _, a := range args {
		n, ok := signalNumber(a)
		number, err := strconv.Atoi(a)
		switch {
		case err == nil && number > 128:
			n, ok = kernel.Signal(number-128), number-128 < len(signalNames)
			fallthrough
		case err == nil && ok && int(n) < len(signalNames):
			c.print(signalNames[n] + "\n")
		case ok && err != nil:
			c.printf("%d\n", n)
		default:
			c.fail("%s: invalid signal", quote(a))
		}
	}
	return c.status
}
