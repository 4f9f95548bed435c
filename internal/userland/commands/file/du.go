package file

import (
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/glob"
)

// Du prints how much space files take.
func Du(c *command.Call) int {
	o := c.Parse("a,all b,bytes c,total d,max-depth= h,human-readable k m s,summarize S,separate-dirs x,one-file-system L,dereference apparent-size si exclude= 0,null !B,block-size= D,H,dereference-args l,count-links !t,threshold= !time files0-from=")
	names := duNames(c, o)
	d := &duRun{c: c, o: o, deepest: command.MaxDepth, seen: map[[2]uint64]bool{}}
	if n, ok := command.Atoi(o.Value("d", "")); ok {
		d.deepest = n
	}
	if o.On("s") {
		d.deepest = 0
	}
	total := int64(0)
	for _, n := range names {
		total += d.walk(n, 0)
	}
	if o.On("c") {
		d.print(total, "total")
	}
	return c.Status
}

// duNames returns the operands, or those that --files0-from names.
func duNames(c *command.Call, o *command.Options) []string {
	if !o.On("files0-from") {
		return o.Operands(".")
	}
	if len(o.Args) > 0 {
		c.Exit(1, "extra operand %s\nfile operands cannot be combined with --files0-from", command.Quote(o.Args[0]))
	}
	data, err := c.ReadAll(c.Input(o.Value("files0-from", "")))
	c.Must(err)
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == 0 })
}

type duRun struct {
	c       *command.Call
	o       *command.Options
	deepest int
	seen    map[[2]uint64]bool
}

func (d *duRun) print(n int64, name string) {
	unit := int64(1024)
	switch {
	case d.o.On("b"):
		unit = 1
	case d.o.On("m"):
		unit = 1 << 20
	}
	d.c.Printf("%s\t%s%c", sized(d.o, n, unit), name, command.LineEnd(d.o.On("0")))
}

func (d *duRun) walk(name string, depth int) int64 {
	c := d.c
	st, err := c.StatOf(name, d.o.On("L") || depth == 0 && d.o.On("D"))
	if err != nil {
		c.Fail("cannot access %s: %s", command.Quote(name), command.Text(err))
		return 0
	}
	if slices.ContainsFunc(d.o.Values("exclude"), func(p string) bool { return glob.MatchBase(p, name) }) || depth > command.MaxDepth || c.Stopped() {
		return 0
	}
	id := [2]uint64{uint64(st.Dev), st.Ino}
	if st.Nlink > 1 && !st.IsDir() && !d.o.On("l") {
		if d.seen[id] {
			return 0
		}
		d.seen[id] = true
	}
	n := allocated(&st)
	if d.o.On("b") || d.o.On("apparent-size") {
		n = st.Size
	}
	if st.IsDir() {
		list, err := c.ReadDir(name)
		if err != nil {
			c.Fail("cannot read directory %s: %s", command.Quote(name), command.Text(err))
		}
		for _, e := range list {
			below := d.walk(command.Join(name, e.Name), depth+1)
			if !(d.o.On("S") && e.IsDir()) {
				n += below
			}
		}
	}
	if depth <= d.deepest && (st.IsDir() || d.o.On("a") || depth == 0) {
		d.print(n, name)
	}
	return n
}
