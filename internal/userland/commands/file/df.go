package file

import (
	"fmt"
	"strconv"

	"coderunner/internal/userland/commands/command"
)

// Df prints how much space is left.
func Df(c *command.Call) int {
	o := c.Parse("a,all h,human-readable H,si i,inodes k l,local m P,portability !T,print-type !t,type= !x,exclude-type= !B,block-size= !total !output=?")
	for _, name := range o.Args {
		if _, err := c.Stat(name); err != nil {
			c.Fail("%s: %s", command.Quotef(name), command.Text(err))
		}
	}
	if c.Status != 0 && len(o.Args) == 1 {
		return c.Status
	}
	s := c.FS.Statfs()
	size, free := int64(s.Blocks)*int64(s.Bsize), int64(s.Bavail)*int64(s.Bsize)
	head, unit := "1K-blocks", func(n int64) string { return strconv.FormatInt(n/1024, 10) }
	switch {
	case o.On("h"):
		head, unit = "Size", func(n int64) string { return command.Human(n, 1024) }
	case o.On("H"):
		head, unit = "Size", func(n int64) string { return command.Human(n, 1000) }
	}
	avail := "Available"
	if o.On("h") || o.On("H") {
		avail = "Avail"
	}
	if o.On("i") {
		head, avail = "Inodes", "IFree"
		size, free = int64(s.Files), int64(s.Ffree)
		unit = func(n int64) string { return strconv.FormatInt(n, 10) }
	}
	percent := "-"
	if size > 0 {
		percent = fmt.Sprintf("%d%%", ((size-free)*100+size-1)/size)
	}
	c.Printf("Filesystem %12s %10s %10s Use%% Mounted on\n", head, "Used", avail)
	c.Printf("%-10s %12s %10s %10s %4s %s\n", "memory", unit(size), unit(size-free), unit(free), percent, "/")
	return c.Status
}
