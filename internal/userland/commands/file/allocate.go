package file

import (
	"errors"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// Fallocate makes a file as large as it is told.
func Fallocate(c *command.Call) int {
	o := c.Parse("l,length= o,offset= !c,collapse-range !d,dig-holes !i,insert-range n,keep-size !p,punch-hole v,verbose x,posix !z,zero-range")
	length, ok := command.Size(o.Value("l", ""))
	offset, also := command.Size(o.Value("o", "0"))
	switch {
	case !o.On("l"):
		return c.Die(1, "no length argument specified")
	case !ok || !also || length <= 0 || offset < 0:
		return c.Die(1, "invalid length value specified")
	case len(o.Args) != 1:
		return c.Die(1, "no filename specified")
	}
	name := o.Args[0]
	f, err := c.OpenFile(name, abi.O_RDWR|abi.O_CREAT, 0o666)
	c.Need(err, 1, "cannot open %s", name)
	defer f.Close()
	if end := offset + length; !o.On("n") && f.F.Stat().Size < end {
		if e := f.F.Truncate(end); e != abi.OK {
			return c.Die(1, "fallocate failed: %s", command.Text(e))
		}
	}
	return c.Status
}

// Shred overwrites files with zeros, and removes them with -u. Nothing reads the memory
// that they were in.
func Shred(c *command.Call) int {
	o := c.Parse("f,force n,iterations= !s,size= u remove=? v,verbose x,exact z,zero !random-source=", 1)
	passes := c.Int(o.Value("n", "3"), 0, 1<<16, "invalid number of passes: %s")
	if o.On("z") {
		passes++
	}
	for _, name := range o.Args {
		f, err := c.OpenFile(name, abi.O_RDWR, 0)
		if err != nil {
			c.Fail("%s: failed to open for writing: %s", name, command.Text(err))
			continue
		}
		size := f.F.Stat().Size
		if !o.On("x") {
			size = (size + 4095) / 4096 * 4096
		}
		e := errors.Join(f.F.Truncate(0).Err(), f.F.Truncate(size).Err())
		f.Close()
		if e != nil {
			c.Fail("%s: %s", name, command.Text(e))
			continue
		}
		for i := 1; o.On("v") && i <= passes; i++ {
			kind := "random"
			if i == passes && o.On("z") {
				kind = "000000"
			}
			c.Errorf("%s: pass %d/%d (%s)...", name, i, passes, kind)
		}
		if !o.On("u") && !o.On("remove") {
			continue
		}
		if o.On("v") {
			c.Errorf("%s: removing", name)
		}
		if e := c.FS.Unlink(nil, c.Abs(name)); e != abi.OK {
			c.Fail("%s: failed to remove: %s", name, command.Text(e))
		} else if o.On("v") {
			c.Errorf("%s: removed", name)
		}
	}
	return c.Status
}
