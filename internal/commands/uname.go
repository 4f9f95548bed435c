package commands

import (
	"strconv"
	"strings"
)

func uname(c *call) int {
	o, status := c.options("a,all s,kernel-name n,nodename r,kernel-release v,kernel-version m,machine p,processor i,hardware-platform o,operating-system")
	if o == nil {
		return status
	}
	fields := []struct{ option, value string }{
		{"s", "Linux"}, {"n", hostName}, {"r", "6.1.0"}, {"v", "#1 SMP"}, {"m", "wasm32"}, {"o", "GNU/Linux"},
	}
	var out []string
	for _, f := range fields {
		if o.on(f.option) || o.on("a") || len(o.set) == 0 && f.option == "s" {
			out = append(out, f.value)
		}
	}
	if o.on("p") || o.on("i") {
		out = append(out, "unknown")
	}
	c.print(strings.Join(out, " ") + "\n")
	return 0
}

// hostName is the sandbox's name for itself.
const hostName = "localhost"

func hostname(c *call) int { return c.constant(hostName) }
func arch(c *call) int     { return c.constant("wasm32") }

func nproc(c *call) int {
	o, status := c.options("all ignore=")
	if o == nil {
		return status
	}
	n := c.p.Kernel().Processors()
	if !o.on("all") {
		n = threads(c.env("OMP_NUM_THREADS"), n)
		n = min(n, threads(c.env("OMP_THREAD_LIMIT"), n))
	}
	ignored, err := strconv.Atoi(o.value("ignore", "0"))
	switch {
	case len(o.args) > 0:
		return c.extra(o.args[0])
	case err != nil || ignored < 0:
		return c.die(1, "invalid number: %s", quote(o.value("ignore", "")))
	}
	c.print(strconv.Itoa(max(1, n-ignored)) + "\n")
	return 0
}

// threads returns the number that a variable of OpenMP begins with, or n.
func threads(value string, n int) int {
	first, _, _ := strings.Cut(value, ",")
	if m, err := strconv.Atoi(strings.TrimSpace(first)); err == nil && m > 0 {
		return m
	}
	return n
}

func clearScreen(c *call) int {
	o, status := c.options("x T=")
	if o == nil {
		return status
	}
	c.print("\x1b[H\x1b[2J")
	if !o.on("x") { // and what has scrolled away
		c.print("\x1b[3J")
	}
	return 0
}

func whoami(c *call) int {
	o, status := c.options("")
	if o == nil {
		return status
	}
	return c.constant(userName(0, false))
}

// constant prints what a command always prints.
func (c *call) constant(s string) int {
	if len(c.args) > 0 && (c.args[0] == "--help" || c.args[0] == "--version") {
		c.about(c.args[0][2:])
		return 0
	}
	c.print(s + "\n")
	return 0
}

func id(c *call) int {
	o, status := c.options("a g,group G,groups n,name r,real u,user !z,zero")
	if o == nil {
		return status
	}
	switch {
	case o.on("n") && (o.on("u") || o.on("g") || o.on("G")):
		c.print("root\n")
	case o.on("u") || o.on("g") || o.on("G"):
		c.print("0\n")
	case o.on("n") || o.on("r"):
		return c.die(1, "cannot print only names or real IDs in default format")
	default:
		c.print("uid=0(root) gid=0(root) groups=0(root)\n")
	}
	return 0
}

func tty(c *call) int {
	o, status := c.options("s,silent,quiet")
	if o == nil {
		return status
	}
	if !o.on("s") {
		c.print("not a tty\n")
	}
	return 1
}

// ps lists the processes of the program.
func ps(c *call) int {
	if len(c.args) > 0 && (c.args[0] == "--help" || c.args[0] == "--version") {
		c.about(c.args[0][2:])
		return 0
	}
	full, every := false, false
	for _, a := range c.args {
		full = full || strings.Contains(a, "f") || strings.Contains(a, "u")
		every = every || strings.ContainsAny(a, "eAxa")
	}
	if full {
		c.print("UID          PID    PPID CMD\n")
	} else {
		c.print("    PID TTY          TIME CMD\n")
	}
	k := c.p.Kernel()
	for pid := 1; pid <= c.p.PID(); pid++ {
		p := k.Process(pid)
		if p == nil {
			continue
		}
		if _, ended := p.Status(); ended {
			continue
		}
		if full {
			c.printf("%-8s %7d %7d %s\n", "root", pid, p.Parent(), base(p.Path))
		} else {
			c.printf("%7d ?        00:00:00 %s\n", pid, base(p.Path))
		}
	}
	return 0
}
