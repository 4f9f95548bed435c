package commands

import (
	"slices"
	"strconv"
)

func du(c *call) int {
	o, status := c.options("a,all b,bytes c,total d,max-depth= h,human-readable k m s,summarize S,separate-dirs x,one-file-system L,dereference apparent-size si exclude= 0,null !B,block-size= !D,H l,count-links !t,threshold= !time")
	if o == nil {
		return status
	}
	names := o.args
	if len(names) == 0 {
		names = []string{"."}
	}
	d := &duRun{c: c, o: o, deepest: maxDepth, seen: map[[2]uint64]bool{}}
	if n, ok := atoi(o.value("d", "")); ok {
		d.deepest = n
	}
	if o.on("s") {
		d.deepest = 0
	}
	total := int64(0)
	for _, n := range names {
		total += d.walk(n, 0)
	}
	if o.on("c") {
		d.print(total, "total")
	}
	return c.status
}

type duRun struct {
	c       *call
	o       *options
	deepest int
	seen    map[[2]uint64]bool
}

func (d *duRun) print(n int64, name string) {
	o := d.o
	s := strconv.FormatInt((n+1023)/1024, 10)
	switch {
	case o.on("h"):
		s = human(n, 1024)
	case o.on("si"):
		s = human(n, 1000)
	case o.on("b"):
		s = strconv.FormatInt(n, 10)
	case o.on("m"):
		s = strconv.FormatInt((n+1<<20-1)>>20, 10)
	}
	d.c.printf("%s\t%s%c", s, name, lineEnd(o.on("0")))
}

func (d *duRun) walk(name string, depth int) int64 {
	c := d.c
	st, err := c.statOf(name, d.o.on("L"))
	if err != nil {
		c.fail("cannot access %s: %s", quote(name), text(err))
		return 0
	}
	if slices.ContainsFunc(d.o.values("exclude"), func(p string) bool { return globBase(p, name) }) || depth > maxDepth || c.stopped() {
		return 0
	}
	id := [2]uint64{uint64(st.Dev), st.Ino}
	if st.Nlink > 1 && !st.IsDir() && !d.o.on("l") {
		if d.seen[id] {
			return 0
		}
		d.seen[id] = true
	}
	n := allocated(&st)
	if d.o.on("b") || d.o.on("apparent-size") {
		n = st.Size
	}
	if st.IsDir() {
		list, err := c.readDir(name)
		if err != nil {
			c.fail("cannot read directory %s: %s", quote(name), text(err))
		}
		for _, e := range list {
			below := d.walk(join(name, e.name), depth+1)
			if !(d.o.on("S") && e.IsDir()) {
				n += below
			}
		}
	}
	if depth <= d.deepest && (st.IsDir() || d.o.on("a") || depth == 0) {
		d.print(n, name)
	}
	return n
}
