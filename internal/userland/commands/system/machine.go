package system

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// Free prints the memory that the program may have, of which its files are a part.
func Free(c *command.Call) int {
	o := c.Parse("b,bytes k,kibi m,mebi g,giga,gibi h,human si l,lohi t,total w,wide s,seconds= c,count=")
	unit := func(n int64) string { return strconv.FormatInt(n>>10, 10) }
	switch {
	case o.On("h"):
		unit = func(n int64) string {
			if n < 1<<10 {
				return fmt.Sprintf("%dB", n)
			}
			return command.Human(n, 1024) + "i"
		}
	case o.On("b"):
		unit = func(n int64) string { return strconv.FormatInt(n, 10) }
	case o.On("m"):
		unit = func(n int64) string { return strconv.FormatInt(n>>20, 10) }
	case o.On("g"):
		unit = func(n int64) string { return strconv.FormatInt(n>>30, 10) }
	}
	s := c.FS.Statfs()
	total, free := int64(s.Blocks)*int64(s.Bsize), int64(s.Bavail)*int64(s.Bsize)
	c.Print("               total        used        free      shared  buff/cache   available\n")
	c.Printf("Mem:    %12s%12s%12s%12s%12s%12s\n", unit(total), unit(total-free), unit(free), unit(0), unit(0), unit(free))
	c.Printf("Swap:   %12s%12s%12s\n", unit(0), unit(0), unit(0))
	if o.On("t") {
		c.Printf("Total:  %12s%12s%12s\n", unit(total), unit(total-free), unit(free))
	}
	return 0
}

// Uptime prints that the machine began just now.
func Uptime(c *command.Call) int {
	switch o, now := c.Parse("p,pretty s,since"), time.Now().In(c.Zone()); {
	case o.On("p"):
		c.Print("up 0 minutes\n")
	case o.On("s"):
		c.Print(now.Format(time.DateTime) + "\n")
	default:
		c.Print(uptime(c))
	}
	return 0
}

// uptime returns the line of uptime.
func uptime(c *command.Call) string {
	return time.Now().In(c.Zone()).Format(" 15:04:05") + " up 0 min,  1 user,  load average: 0.00, 0.00, 0.00\n"
}

// Lscpu prints the number of processors, and nothing that only the host has.
func Lscpu(c *command.Call) int {
	c.Parse("", 0, 0)
	n := c.Process.Kernel().Processors()
	list := "0"
	if n > 1 {
		list = fmt.Sprintf("0-%d", n-1)
	}
	for _, row := range [][2]string{
		{"Architecture", "wasm32"}, {"Byte Order", "Little Endian"}, {"CPU(s)", strconv.Itoa(n)}, {"On-line CPU(s) list", list},
		{"Model name", "WebAssembly"}, {"Thread(s) per core", "1"}, {"Core(s) per socket", strconv.Itoa(n)}, {"Socket(s)", "1"},
	} {
		c.Printf("%-20s %s\n", row[0]+":", row[1])
	}
	return 0
}

// Getconf prints a limit of the system.
func Getconf(c *command.Call) int {
	o := c.Parse("+ a v=", 0, 2)
	n := int64(c.Process.Kernel().Processors())
	s := c.FS.Statfs()
	values := map[string]int64{
		"_NPROCESSORS_ONLN": n, "_NPROCESSORS_CONF": n, "NPROCESSORS_ONLN": n, "NPROCESSORS_CONF": n,
		"_PHYS_PAGES": int64(s.Blocks), "_AVPHYS_PAGES": int64(s.Bavail), "PAGESIZE": int64(s.Bsize), "PAGE_SIZE": int64(s.Bsize),
		"LONG_BIT": 32, "WORD_BIT": 32, "INT_MAX": 1<<31 - 1, "CHAR_BIT": 8, "ARG_MAX": 2 << 20, "CLK_TCK": 100, "HOST_NAME_MAX": 64,
		"NAME_MAX": abi.NAME_MAX, "PATH_MAX": abi.PATH_MAX,
	}
	usage := "Usage: getconf [-v specification] variable_name [pathname]\n       getconf -a [pathname]\n"
	if o.On("a") {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			c.Printf("%-35s%d\n", name, values[name])
		}
		return 0
	}
	if len(o.Args) == 0 {
		c.Warnf("%s", usage)
		return 2
	}
	value, ok := values[o.Args[0]]
	if !ok {
		c.Warnf("getconf: Unrecognized variable `%s'\n", o.Args[0])
		return 2
	}
	c.Printf("%d\n", value)
	return 0
}
