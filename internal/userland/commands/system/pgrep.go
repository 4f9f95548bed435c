package system

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// Pgrep is pgrep, which prints the processes whose names match, and pkill, which sends
// them a signal.
func Pgrep(c *command.Call) int {
	signal := firstSignal(c)
	o := c.Parse("a,list-full c,count d,delimiter= e,echo f,full g,pgroup= i,ignore-case l,list-name n,newest o,oldest P,parent= s,session= signal= u,euid= U,uid= v,inverse x,exact", 0, 1)
	if len(o.Args) == 0 && !o.On("P") && !o.On("g") && !o.On("u") {
		return c.Usage(2, "no matching criteria specified")
	}
	sig, ok := kernel.ParseSignal(o.Value("signal", signal))
	if !ok {
		return c.Die(1, "Unknown signal %q.", o.Value("signal", ""))
	}
	pattern := ""
	if len(o.Args) > 0 {
		pattern = o.Args[0]
	}
	re, err := regex.Dialect{Limits: c.Limits(), Extended: true, Fold: o.On("i"), Whole: o.On("x")}.Compile(pattern)
	if err != nil {
		return c.Die(2, "%s", err)
	}
	var found []*kernel.Process
	for _, p := range processes(c) {
		path, args := p.Command()
		name := command.Base(path)
		if o.On("f") {
			name = strings.Join(args, " ")
		}
		parents := strings.Split(o.Value("P", strconv.Itoa(p.Parent())), ",")
		groups := strings.Split(o.Value("g", strconv.Itoa(p.Group())), ",")
		matches := re.Match([]byte(name)) && slices.Contains(parents, strconv.Itoa(p.Parent())) && slices.Contains(groups, strconv.Itoa(p.Group()))
		if p != c.Process && matches != o.On("v") {
			found = append(found, p)
		}
	}
	if len(found) > 0 && o.On("n") {
		found = found[len(found)-1:]
	} else if len(found) > 0 && o.On("o") {
		found = found[:1]
	}
	if c.Name == "pgrep" {
		listProcesses(c, o, found)
	}
	for _, p := range found {
		if c.Name == "pkill" {
			c.Process.Kill(p.PID(), sig)
		}
	}
	return command.Btoi(len(found) == 0)
}

// firstSignal takes the signal of pkill -HUP and killall -9 off the arguments.
func firstSignal(c *command.Call) string {
	if c.Name == "pgrep" || len(c.Args) == 0 || !strings.HasPrefix(c.Args[0], "-") {
		return "TERM"
	}
	name := c.Args[0][1:]
	if _, ok := kernel.ParseSignal(name); !ok {
		return "TERM"
	}
	c.Args = c.Args[1:]
	return name
}

func listProcesses(c *command.Call, o *command.Options, list []*kernel.Process) {
	if o.On("c") {
		c.Printf("%d\n", len(list))
		return
	}
	lines := make([]string, len(list))
	for i, p := range list {
		path, args := p.Command()
		if lines[i] = strconv.Itoa(p.PID()); o.On("a") {
			lines[i] += " " + strings.Join(args, " ")
		} else if o.On("l") {
			lines[i] += " " + command.Base(path)
		}
	}
	if len(list) > 0 {
		c.Print(strings.Join(lines, o.Value("d", "\n")) + "\n")
	}
}

// processes returns the processes that run, by their pids.
func processes(c *command.Call) []*kernel.Process {
	return slices.DeleteFunc(c.Process.Kernel().Processes(), func(p *kernel.Process) bool {
		_, ended := p.Status()
		return ended || p.PID() > c.Process.PID() // what comes after it in a pipeline may not be there yet
	})
}

// Pidof prints the processes of programs, the newest first.
func Pidof(c *command.Call) int {
	o := c.Parse("s,single-shot c q x S,separator= o,omit-pid=", 1)
	var pids []string
	for _, p := range slices.Backward(processes(c)) {
		pid := strconv.Itoa(p.PID())
		if p != c.Process && slices.ContainsFunc(o.Args, func(name string) bool { return named(p, name) }) && !slices.Contains(o.Values("o"), pid) {
			pids = append(pids, pid)
		}
	}
	if len(pids) > 0 && o.On("s") {
		pids = pids[:1]
	}
	if len(pids) > 0 && !o.On("q") {
		c.Print(strings.Join(pids, o.Value("S", " ")) + "\n")
	}
	return command.Btoi(len(pids) == 0)
}

// named reports whether a process runs a program, or a script, of a name.
func named(p *kernel.Process, name string) bool {
	path, args := p.Command()
	if len(args) > 1 && command.Base(args[1]) == command.Base(name) {
		return true
	}
	return command.Base(path) == command.Base(name)
}

// Killall sends a signal to the processes of programs.
func Killall(c *command.Call) int {
	signal := firstSignal(c)
	o := c.Parse("e,exact I,ignore-case q,quiet s,signal= v,verbose w,wait", 1)
	sig, ok := kernel.ParseSignal(o.Value("s", signal))
	if !ok {
		return c.Die(1, "%s: unknown signal", o.Value("s", ""))
	}
	for _, name := range o.Args {
		found := false
		for _, p := range processes(c) {
			if p != c.Process && named(p, name) {
				found = true
				c.Process.Kill(p.PID(), sig)
			}
		}
		if !found {
			c.Status = 1
			if !o.On("q") {
				c.Warnf("%s: no process found\n", name)
			}
		}
	}
	return c.Status
}

// Uuidgen prints a random UUID.
func Uuidgen(c *command.Call) int {
	c.Parse("r,random t,time", 0, 0)
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	c.Printf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	return 0
}
