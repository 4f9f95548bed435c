package file

import (
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// change computes a new mode from an old one.
type change func(old uint32, dir bool, umask uint32) uint32

// ParseMode reads a mode of chmod: octal, or clauses such as u+rwX,go=r.
func ParseMode(s string) (change, bool) {
	if n, err := strconv.ParseUint(s, 8, 32); err == nil {
		return func(old uint32, dir bool, _ uint32) uint32 {
			if dir && len(s) < 5 { // set-id bits of directories stay
				return uint32(n) | old&0o6000
			}
			return uint32(n)
		}, n <= 0o7777
	}
	type clause struct {
		who  uint32
		op   byte
		perm string
	}
	var list []clause
	for part := range strings.SplitSeq(s, ",") {
		i := 0
		var who uint32
		for ; i < len(part) && strings.IndexByte("ugoa", part[i]) >= 0; i++ {
			who |= map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': 0o7777}[part[i]]
		}
		if i >= len(part) {
			return nil, false
		}
		for i < len(part) {
			op := part[i]
			if strings.IndexByte("+-=", op) < 0 {
				return nil, false
			}
			start := i + 1
			for i++; i < len(part) && strings.IndexByte("rwxXstugo", part[i]) >= 0; i++ {
			}
			list = append(list, clause{who, op, part[start:i]})
		}
	}
	return func(old uint32, dir bool, umask uint32) uint32 {
		mode := old & 0o7777
		for _, c := range list {
			who, mask := c.who, uint32(0o7777)
			if who == 0 {
				who, mask = 0o7777, ^umask&0o7777
			}
			bits := modeBits(c.perm, mode, dir) & who & mask
			switch c.op {
			case '+':
				mode |= bits
			case '-':
				mode &^= bits
			case '=':
				mode = mode&^(who&0o7777&^btou(dir, 0o6000)) | bits
			}
		}
		return mode
	}, true
}

func btou(b bool, v uint32) uint32 {
	if b {
		return v
	}
	return 0
}

// modeBits is what the letters of a clause stand for, for everybody.
func modeBits(perm string, mode uint32, dir bool) (bits uint32) {
	for _, p := range perm {
		switch p {
		case 'r':
			bits |= 0o444
		case 'w':
			bits |= 0o222
		case 'x':
			bits |= 0o111
		case 'X':
			if dir || mode&0o111 != 0 {
				bits |= 0o111
			}
		case 's':
			bits |= 0o6000
		case 't':
			bits |= 0o1000
		case 'u':
			bits |= mode >> 6 & 7 * 0o111
		case 'g':
			bits |= mode >> 3 & 7 * 0o111
		case 'o':
			bits |= mode & 7 * 0o111
		}
	}
	return bits
}

// Chmod changes permissions.
func Chmod(c *command.Call) int {
	// A mode that begins with "-" is not an option.
	var args []string
	for i, a := range c.Args {
		if len(a) > 1 && a[0] == '-' && strings.IndexByte("rwxXst", a[1]) >= 0 {
			args = append(append(args, "--"), c.Args[i:]...)
			break
		}
		args = append(args, a)
	}
	c.Args = args
	o := c.Parse("c,changes f,silent,quiet v,verbose R,recursive reference= no-preserve-root preserve-root")
	names := o.Args
	var to change
	if ref := o.Value("reference", ""); ref != "" {
		st, err := c.Stat(ref)
		c.Need(err, 1, "failed to get attributes of %s", command.Quote(ref))
		to = func(uint32, bool, uint32) uint32 { return st.Mode & 0o7777 }
	} else {
		if len(names) < 2 {
			return c.Missing(o)
		}
		ok := false
		if to, ok = ParseMode(names[0]); !ok {
			return c.Usage(1, "invalid mode: %s", command.Quote(names[0]))
		}
		names = names[1:]
	}
	for _, name := range names {
		chmodOne(c, o, name, to, 0)
	}
	return c.Status
}

func chmodOne(c *command.Call, o *command.Options, name string, to change, depth int) {
	n, e := c.Lookup(name, true)
	if e != abi.OK {
		if !o.On("f") {
			c.Errorf("cannot access %s: %s", command.Quote(name), command.Text(e))
		}
		c.Status = 1
		return
	}
	st := c.FS.Stat(n)
	mode := to(st.Mode, st.IsDir(), c.Process.Umask)
	if e := c.FS.Chmod(n, mode); e != abi.OK {
		c.Fail("changing permissions of %s: %s", command.Quote(name), command.Text(e))
	} else if old := st.Mode & 0o7777; o.On("v") || o.On("c") && old != mode {
		if old == mode {
			c.Printf("mode of %s retained as %04o (%s)\n", command.Quote(name), mode, ModeString(mode)[1:])
		} else {
			c.Printf("mode of %s changed from %04o (%s) to %04o (%s)\n", command.Quote(name), old, ModeString(old)[1:], mode, ModeString(mode)[1:])
		}
	}
	if !o.On("R") || !st.IsDir() || depth > command.MaxDepth {
		return
	}
	list, err := c.ReadDir(name)
	if err != nil {
		c.Fail("cannot read directory %s: %s", command.Quote(name), command.Text(err))
	}
	for _, l := range list {
		if l.Mode&abi.S_IFMT != abi.S_IFLNK && !c.Stopped() {
			chmodOne(c, o, command.Join(name, l.Name), to, depth+1)
		}
	}
}

// Chown checks that the files are there: there is only one user, who owns
// everything.
func Chown(c *command.Call) int {
	o := c.Parse("c,changes f,silent,quiet v,verbose R,recursive h,no-dereference dereference from= reference= H L P")
	if len(o.Args) < 2 && !o.On("reference") {
		return c.Missing(o)
	}
	names := o.Args
	if !o.On("reference") {
		names = names[1:]
	}
	for _, name := range names {
		if _, err := c.Lstat(name); err != nil && !o.On("f") {
			c.Fail("cannot access %s: %s", command.Quote(name), command.Text(err))
		}
	}
	return c.Status
}
