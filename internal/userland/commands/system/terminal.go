package system

import (
	"fmt"
	"strconv"

	"coderunner/internal/userland/commands/command"
)

// capabilities are what terminals named xterm-256color do, for those of the names that
// scripts use. Those that take numbers are formats.
var capabilities = map[string]string{
	"bold": "\x1b[1m", "dim": "\x1b[2m", "smul": "\x1b[4m", "rmul": "\x1b[24m", "rev": "\x1b[7m", "blink": "\x1b[5m",
	"smso": "\x1b[7m", "rmso": "\x1b[27m", "sitm": "\x1b[3m", "ritm": "\x1b[23m", "invis": "\x1b[8m", "sgr0": "\x1b(B\x1b[m", "op": "\x1b[39;49m",
	"clear": "\x1b[H\x1b[2J\x1b[3J", "el": "\x1b[K", "el1": "\x1b[1K", "ed": "\x1b[J", "home": "\x1b[H", "bel": "\a", "cr": "\r",
	"sc": "\x1b7", "rc": "\x1b8", "civis": "\x1b[?25l", "cnorm": "\x1b[?12l\x1b[?25h", "smcup": "\x1b[?1049h\x1b[22;0;0t", "rmcup": "\x1b[?1049l\x1b[23;0;0t",
	"cuu1": "\x1b[A", "cud1": "\n", "cub1": "\b", "cuf1": "\x1b[C", "cuu": "\x1b[%dA", "cud": "\x1b[%dB", "cub": "\x1b[%dD", "cuf": "\x1b[%dC",
	"reset": "\x1bc\x1b]104\a\x1b[!p\x1b[?3;4l\x1b[4l\x1b>",
}

// Tput prints what a terminal does by its names, as if there were one, 80 columns wide.
func Tput(c *command.Call) int {
	o := c.Parse("+ T= S x", 1)
	name, args := o.Args[0], o.Args[1:]
	var n [2]int
	for i := range min(len(args), len(n)) {
		n[i], _ = strconv.Atoi(args[i])
	}
	switch name {
	case "cols", "lines":
		size := map[string]string{"cols": "80", "lines": "24"}[name]
		if set := c.Env(map[string]string{"cols": "COLUMNS", "lines": "LINES"}[name]); set != "" {
			size = set
		}
		c.Print(size + "\n")
	case "colors":
		c.Print("256\n")
	case "longname":
		c.Print("xterm with 256 colors")
	case "init":
	case "setaf", "setab", "setf", "setb":
		c.Print(color(n[0], name == "setab" || name == "setb"))
	case "cup":
		c.Printf("\x1b[%d;%dH", n[0]+1, n[1]+1)
	default:
		text, ok := capabilities[name]
		switch {
		case !ok:
			return c.Die(4, "unknown terminfo capability '%s'", name)
		case len(text) > 3 && text[2] == '%':
			text = fmt.Sprintf(text, n[0])
		}
		c.Print(text)
	}
	return 0
}

// color is the sequence of a color of 256.
func color(n int, background bool) string {
	first := 30
	if background {
		first = 40
	}
	switch {
	case n < 8:
		return fmt.Sprintf("\x1b[%dm", first+n)
	case n < 16:
		return fmt.Sprintf("\x1b[%dm", first+60+n-8)
	}
	return fmt.Sprintf("\x1b[%d;5;%dm", first+8, n)
}

// Stty reports that standard input is no terminal.
func Stty(c *command.Call) int {
	if len(c.Args) > 0 && c.Args[0] == "--help" {
		c.About("help")
		return 0
	}
	return c.Die(1, "'standard input': Inappropriate ioctl for device")
}

// Logger writes to the system's log, which nobody keeps here, and with -s to standard
// error, too.
func Logger(c *command.Call) int {
	o := c.Parse("i,id=? s,stderr t,tag= p,priority= f,file= e n,server= P,port= T,tcp d,udp u,socket= no-act")
	if !o.On("s") {
		return 0
	}
	tag := o.Value("t", "root") + ": "
	for _, word := range o.Args {
		tag += word + " "
	}
	c.Warnf("<13>%s\n", tag[:len(tag)-1])
	return 0
}

// Detached is setsid, ionice, chrt and taskset: it runs a command. There are neither
// sessions nor priorities of processes.
func Detached(c *command.Call) int {
	spec := map[string]string{
		"setsid": "+ c,ctty f,fork w,wait", "ionice": "+ c,class= n,classdata= p,pid= t,ignore",
		"chrt": "+ b,batch f,fifo i,idle o,other r,rr p,pid", "taskset": "+ a,all-tasks c,cpu-list p,pid",
	}[c.Name]
	o := c.Parse(spec, 1)
	if o.On("p") {
		return c.Die(1, "processes have no priorities in this sandbox")
	}
	args := o.Args
	if c.Name == "chrt" || c.Name == "taskset" { // the priority, the mask
		args = args[1:]
	}
	if len(args) == 0 {
		return c.Missing(o)
	}
	if !o.On("f") || c.Name == "chrt" {
		return instead(c, command.Child{Args: args})
	}
	if _, err := c.Start(command.Child{Args: args}); err != nil {
		return c.Die(command.NotStarted(err), "failed to execute %s: %s", args[0], command.Text(err))
	}
	return 0
}
