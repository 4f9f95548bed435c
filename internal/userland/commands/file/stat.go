package file

import (
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/printf"
)

// Stat prints what is known of files.
func Stat(c *command.Call) int {
	o := c.Parse("L,dereference f,file-system c,format= printf= t,terse !Z,context cached=", 1)
	format := o.Value("c", "")
	switch {
	case o.On("printf"):
		format = o.Value("printf", "")
	case o.On("t"):
		format = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n"
	case o.On("c"):
		format += "\n"
	default:
		format = "  File: %#N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-11i Links: %h\n" +
			"Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n"
	}
	for _, name := range o.Args {
		st, err := c.StatOf(name, o.On("L"))
		if err != nil {
			c.Fail("cannot statx %s: %s", command.Quote(name), command.Text(err))
			continue
		}
		statFormat(c, format, name, &st, o.On("printf"))
	}
	return c.Status
}

// statFormat prints what a format of stat asks for.
func statFormat(c *command.Call, format, name string, st *abi.Stat, escapes bool) {
	escape := func(s string) (string, int, bool) {
		text, n, _ := printf.CEscape(s, false)
		return text, n, false
	}
	if !escapes {
		escape = nil
	}
	printf.Format(format, escape, c.Print, func(d printf.Directive, rest string) (string, int) {
		switch {
		case d.Verb == 'd' && strings.Contains(d.Source, "L"):
			return statField(c, d, 'L', name, st), 0
		case (d.Verb == 'H' || d.Verb == 'L') && rest != "" && (rest[0] == 'd' || rest[0] == 'r'):
			modifier := d.Verb
			d.Verb = rest[0]
			return statField(c, d, modifier, name, st), 1
		}
		return statField(c, d, 0, name, st), 0
	})
}

// statField returns what a directive of a format stands for.
func statField(c *command.Call, d printf.Directive, modifier byte, name string, st *abi.Stat) string {
	stamp := func(t abi.Timespec) string {
		return d.FormatString(t.Time().In(c.Zone()).Format("2006-01-02 15:04:05.000000000 -0700"))
	}
	numbers := map[byte]uint64{
		'b': uint64(st.Blocks), 'B': 512, 'd': uint64(st.Dev), 'g': uint64(st.GID), 'u': uint64(st.UID), 'h': uint64(st.Nlink),
		'i': st.Ino, 'o': uint64(st.Blksize), 's': uint64(st.Size),
		'X': uint64(st.Atime.Sec), 'Y': uint64(st.Mtime.Sec), 'Z': uint64(st.Ctime.Sec),
	}
	switch modifier {
	case 'H':
		numbers['d'] >>= 8
	case 'L':
		numbers['d'] &= 0xff
	}
	if n, ok := numbers[d.Verb]; ok {
		d.Verb = 'u'
		return d.FormatUint(n)
	}
	switch d.Verb {
	case 'a':
		d.Verb = 'o'
		return d.FormatUint(uint64(st.Mode & 0o7777))
	case 'A':
		return d.FormatString(ModeString(st.Mode))
	case 'D':
		return strconv.FormatUint(uint64(st.Dev), 16)
	case 'f':
		return strconv.FormatUint(uint64(st.Mode), 16)
	case 'F':
		return d.FormatString(KindOf(st))
	case 'G':
		return d.FormatString(UserName(st.GID, false))
	case 'U':
		return d.FormatString(UserName(st.UID, false))
	case 'm':
		return d.FormatString("/")
	case 'n':
		return d.FormatString(name)
	case 'N':
		return statName(c, d, name)
	case 't', 'T', 'r', 'W':
		return "0"
	case 'w':
		return "-"
	case 'x':
		return stamp(st.Atime)
	case 'y':
		return stamp(st.Mtime)
	case 'z':
		return stamp(st.Ctime)
	}
	return "?"
}

// statName is %N: a quoted name, and what a symbolic link refers to.
func statName(c *command.Call, d printf.Directive, name string) string {
	q := command.Quote
	if d.Flags == "#" { // of the default format
		d.Flags, q = "", func(s string) string { return s }
	}
	s := q(name)
	if target, err := c.Readlink(name); err == nil {
		s += " -> " + q(target)
	}
	return d.FormatString(s)
}

// KindOf names the type of a file.
func KindOf(st *abi.Stat) string {
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return "directory"
	case abi.S_IFLNK:
		return "symbolic link"
	case abi.S_IFIFO:
		return "fifo"
	case abi.S_IFCHR:
		return "character special file"
	case abi.S_IFSOCK:
		return "socket"
	}
	if st.Size == 0 {
		return "regular empty file"
	}
	return "regular file"
}
