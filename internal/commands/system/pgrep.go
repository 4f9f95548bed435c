package system

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/commands/command"
	"coderunner/internal/commands/regex"
	"coderunner/internal/kernel"
)

// Pgrep is pgrep, which prints the processes whose names match, and pkill, which sends
// them a signal.
func Pgrep(c *command.Call) int {
	sig := kernel.SIGTERM
	if c.Name == "pkill" && len(c.Args) > 0 && len(c.Args[0]) > 1 {
		if s, ok := kernel.ParseSignal(c.Args[0][1:]); ok && c.Args[0][0] == '-' {
			sig, c.Args = s, c.Args[1:]
		}
	}
	o := c.Parse("a,list-full c,count d,delimiter= e,echo f,full g,pgroup= i,ignore-case l,list-name n,newest o,oldest P,parent= s,session= signal= u,euid= U,uid= v,inverse x,exact", 0, 1)
	if len(o.Args) == 0 && !o.On("P") && !o.On("g") && !o.On("u") {
		return c.Usage(2, "no matching criteria specified")
	}
	if name := o.Value("signal", ""); name != "" {
		var ok bool
		if sig, ok = kernel.ParseSignal(name); !ok {
			return c.Die(1, "Unknown signal %q.", name)
		}
	}
	pattern := ""
	if len(o.Args) > 0 {
		pattern = o.Args[0]
	}
	re, err := regex.Dialect{Extended: true, Fold: o.On("i"), Whole: o.On("x")}.Compile(pattern)
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

// Uuidgen prints a random UUID.
func Uuidgen(c *command.Call) int {
	c.Parse("r,random t,time", 0, 0)
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	c.Printf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	return 0
}
