package commands

import (
	"fmt"
	"strconv"
)

func df(c *call) int {
	o, status := c.options("a,all h,human-readable H,si i,inodes k l,local m P,portability !T,print-type !t,type= !x,exclude-type= !B,block-size= !total !output=?")
	if o == nil {
		return status
	}
	for _, name := range o.args {
		if _, err := c.stat(name); err != nil {
			c.fail("%s: %s", quotef(name), text(err))
		}
	}
	if c.status != 0 && len(o.args) == 1 {
		return c.status
	}
	s := c.fs.Statfs()
	size, free := int64(s.Blocks)*int64(s.Bsize), int64(s.Bavail)*int64(s.Bsize)
	head, unit := "1K-blocks", func(n int64) string { return strconv.FormatInt(n/1024, 10) }
	switch {
	case o.on("h"):
		head, unit = "Size", func(n int64) string { return human(n, 1024) }
	case o.on("H"):
		head, unit = "Size", func(n int64) string { return human(n, 1000) }
	}
	avail := "Available"
	if o.on("h") || o.on("H") {
		avail = "Avail"
	}
	if o.on("i") {
		head, avail = "Inodes", "IFree"
		size, free = int64(s.Files), int64(s.Ffree)
		unit = func(n int64) string { return strconv.FormatInt(n, 10) }
	}
	percent := "-"
	if size > 0 {
		percent = fmt.Sprintf("%d%%", ((size-free)*100+size-1)/size)
	}
	c.printf("Filesystem %12s %10s %10s Use%% Mounted on\n", head, "Used", avail)
	c.printf("%-10s %12s %10s %10s %4s %s\n", "memory", unit(size), unit(size-free), unit(free), percent, "/")
	return c.status
}
