package system

import (
	"strconv"
	"strings"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
)

// Uname prints what system this is.
func Uname(c *command.Call) int {
	o := c.Parse("a,all s,kernel-name n,nodename r,kernel-release v,kernel-version m,machine p,processor i,hardware-platform o,operating-system")
	fields := []struct{ option, value string }{
		{"s", "Linux"}, {"n", hostName}, {"r", kernel.Release}, {"v", "#1 SMP"}, {"m", "wasm32"}, {"o", "GNU/Linux"},
	}
	var out []string
	for _, f := range fields {
		if o.On(f.option) || o.On("a") || len(o.Set) == 0 && f.option == "s" {
			out = append(out, f.value)
		}
	}
	if o.On("p") || o.On("i") {
		out = append(out, "unknown")
	}
	c.Print(strings.Join(out, " ") + "\n")
	return 0
}

// hostName is the sandbox's name for itself.
const hostName = "localhost"

// Hostname prints the machine's name.
func Hostname(c *command.Call) int { return constant(c, hostName) }
func Arch(c *command.Call) int     { return constant(c, "wasm32") }

// Nproc prints the number of processors.
func Nproc(c *command.Call) int {
	o := c.Parse("all ignore=")
	n := c.Process.Kernel().Processors()
	if !o.On("all") {
		n = threads(c.Env("OMP_NUM_THREADS"), n)
		n = min(n, threads(c.Env("OMP_THREAD_LIMIT"), n))
	}
	ignored, err := strconv.Atoi(o.Value("ignore", "0"))
	switch {
	case len(o.Args) > 0:
		return c.Extra(o.Args[0])
	case err != nil || ignored < 0:
		return c.Die(1, "invalid number: %s", command.Quote(o.Value("ignore", "")))
	}
	c.Print(strconv.Itoa(max(1, n-ignored)) + "\n")
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

// Clear clears the terminal's screen.
func Clear(c *command.Call) int {
	o := c.Parse("x T=")
	c.Print("\x1b[H\x1b[2J")
	if !o.On("x") { // and what has scrolled away
		c.Print("\x1b[3J")
	}
	return 0
}

// Whoami prints the user's name.
func Whoami(c *command.Call) int {
	c.Parse("")
	return constant(c, file.UserName(0, false))
}

// constant prints what a command always prints.
func constant(c *command.Call, s string) int {
	if len(c.Args) > 0 && (c.Args[0] == "--help" || c.Args[0] == "--version") {
		c.About(c.Args[0][2:])
		return 0
	}
	c.Print(s + "\n")
	return 0
}

// ID prints the user's ids.
func ID(c *command.Call) int {
	o := c.Parse("a g,group G,groups n,name r,real u,user !z,zero")
	switch {
	case o.On("n") && (o.On("u") || o.On("g") || o.On("G")):
		c.Print("root\n")
	case o.On("u") || o.On("g") || o.On("G"):
		c.Print("0\n")
	case o.On("n") || o.On("r"):
		return c.Die(1, "cannot print only names or real IDs in default format")
	default:
		c.Print("uid=0(root) gid=0(root) groups=0(root)\n")
	}
	return 0
}

// Tty prints that there is no terminal.
func Tty(c *command.Call) int {
	o := c.Parse("s,silent,quiet")
	if !o.On("s") {
		c.Print("not a tty\n")
	}
	return 1
}
