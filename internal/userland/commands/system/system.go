// Package system has the commands about the process and its surroundings (env,
// timeout, xargs, uname, date) and those that compute (test, expr, seq, printf).
package system

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
)

// Env runs a command in a changed environment.
func Env(c *command.Call) int {
	o := c.Parse("+ i,ignore-environment 0,null u,unset= C,chdir= S,split-string= v,debug !block-signal=? !default-signal=? !ignore-signal=?")
	args := o.Args
	if s := o.Value("S", ""); s != "" {
		args = append(strings.Fields(s), args...)
	}
	var vars []string
	if len(args) > 0 && args[0] == "-" {
		args = args[1:]
	} else if !o.On("i") {
		vars = slices.Clone(c.Process.Env)
	}
	unset := func(name string) {
		vars = slices.DeleteFunc(vars, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	for _, name := range o.Values("u") {
		if name == "" || strings.Contains(name, "=") {
			return c.Die(125, "cannot unset %s: Invalid argument", command.Quote(name))
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
			c.Printf("%s%c", e, command.LineEnd(o.On("0")))
		}
		return 0
	}
	dir := ""
	if to := o.Value("C", ""); to != "" {
		if !c.IsDir(to) {
			return c.Die(125, "cannot change directory to %s: No such file or directory", command.Quote(to))
		}
		dir = c.Canonical(to, true)
	}
	if vars == nil {
		vars = []string{}
	}
	return instead(c, command.Child{Args: args, Env: vars, Dir: dir})
}

// instead runs a command in the place of this one.
func instead(c *command.Call, ch command.Child) int {
	status, err := c.Run(ch)
	if err != nil {
		c.Errorf("%s: %s", command.Quote(ch.Args[0]), command.Text(err))
	}
	return status
}

// Printenv prints environment variables.
func Printenv(c *command.Call) int {
	o := c.Parse("+ 0,null")
	end := command.LineEnd(o.On("0"))
	if len(o.Args) == 0 {
		for _, e := range c.Process.Env {
			c.Printf("%s%c", e, end)
		}
		return 0
	}
	for _, name := range o.Args {
		at := slices.IndexFunc(c.Process.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if at < 0 {
			c.Status = 1
			continue
		}
		c.Printf("%s%c", c.Process.Env[at][len(name)+1:], end)
	}
	return c.Status
}

// Which finds commands in PATH.
func Which(c *command.Call) int {
	o := c.Parse("a s")
	for _, name := range o.Args {
		names, found := []string{name}, false
		if o.On("a") && !strings.Contains(name, "/") {
			names = nil
			for _, dir := range strings.Split(cmp.Or(c.Env("PATH"), kernel.DefaultPath), ":") {
				names = append(names, command.JoinPath(cmp.Or(dir, "."), name))
			}
		}
		for _, name := range names {
			path, e := c.Process.Kernel().LookPath(name, c.Dir, c.Process.Env)
			if found = found || e == abi.OK; e == abi.OK && !o.On("s") {
				c.Print(path + "\n")
			}
		}
		if !found {
			c.Status = 1
		}
	}
	return c.Status
}

// Sleep waits.
func Sleep(c *command.Call) int {
	o := c.Parse("", 1)
	var total time.Duration
	for _, a := range o.Args {
		d, ok := clock.Duration(a)
		if !ok {
			return c.Usage(1, "invalid time interval %s", command.Quote(a))
		}
		total = max(total, min(total+d, math.MaxInt64/2))
	}
	timer := time.NewTimer(total)
	defer timer.Stop()
	c.Process.Idle(func() {
		select {
		case <-timer.C:
		case <-c.Ctx.Done():
		}
	})
	return command.Btoi(c.Ctx.Err() != nil)
}

// Timeout runs a command, and ends it after a time.
func Timeout(c *command.Call) int {
	o := c.Parse("+ foreground k,kill-after= s,signal= preserve-status v,verbose")
	if len(o.Args) < 2 {
		c.Warnf("Try 'timeout --help' for more information.\n")
		return 125
	}
	limit, ok := clock.Duration(o.Args[0])
	if !ok {
		return c.Usage(125, "invalid time interval %s", command.Quote(o.Args[0]))
	}
	sig, ok := kernel.ParseSignal(o.Value("s", "TERM"))
	if !ok {
		return c.Usage(125, "%s: invalid signal", command.Quote(o.Value("s", "")))
	}
	after, ok := clock.Duration(o.Value("k", "0"))
	if !ok {
		return c.Usage(125, "invalid time interval %s", command.Quote(o.Value("k", "")))
	}
	p, err := c.Start(command.Child{Args: o.Args[1:], Group: !o.On("foreground")})
	if err != nil {
		return c.Die(command.NotStarted(err), "failed to run command %s: %s", command.Quote(o.Args[1]), command.Text(err))
	}
	target := -p.PID() // the group, whose other processes may hold pipes that somebody reads
	if o.On("foreground") {
		target = p.PID()
	}
	s, done, killed := await(c, p, target, limit, sig, after)
	switch {
	case !done:
		return 128 + int(kernel.SIGKILL)
	case !killed || o.On("preserve-status"):
		return s.Code()
	case s.Signal() == kernel.SIGKILL:
		return 128 + int(kernel.SIGKILL)
	}
	if o.On("v") {
		c.Errorf("sending signal %s to command %s", kernel.SignalNames[sig], command.Quote(o.Args[1]))
	}
	return 124
}

// await waits for a child. After a time a target of kill(2) gets a signal, and SIGKILL
// after another one if that is not 0.
func await(c *command.Call, p *kernel.Process, target int, limit time.Duration, sig kernel.Signal, after time.Duration) (s kernel.Status, done, killed bool) {
	ctx := c.Ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.Ctx, limit)
		defer cancel()
	}
	if s, ok := c.Wait(ctx, p); ok {
		return s, true, false
	}
	if c.Ctx.Err() != nil {
		c.Process.Kill(target, kernel.SIGKILL)
		return 0, false, false
	}
	c.Process.Kill(target, sig)
	if after > 0 {
		ctx, cancel := context.WithTimeout(c.Ctx, after)
		defer cancel()
		if s, ok := c.Wait(ctx, p); ok {
			return s, true, true
		}
		c.Process.Kill(target, kernel.SIGKILL)
	}
	s, done = c.Wait(c.Ctx, p)
	return s, done, true
}

// Nohup runs a command that SIGHUP does not end.
func Nohup(c *command.Call) int {
	o := c.Parse("+")
	if len(o.Args) == 0 {
		c.Missing(o)
		return 125
	}
	c.Process.Ignore(kernel.SIGHUP, true)
	return instead(c, command.Child{Args: o.Args})
}

// Sync is sync: files are in memory.
func Sync(c *command.Call) int {
	c.Parse("d,data f,file-system")
	return 0
}

// Nice runs a command: there are no priorities.
func Nice(c *command.Call) int {
	o := c.Parse("+ # n,adjustment=")
	if len(o.Args) == 0 {
		c.Print("0\n")
		return 0
	}
	return instead(c, command.Child{Args: o.Args})
}

// Stdbuf runs a command: output is flushed as it is anyway.
func Stdbuf(c *command.Call) int {
	o := c.Parse("+ i,input= o,output= e,error=", 1)
	return instead(c, command.Child{Args: o.Args})
}
