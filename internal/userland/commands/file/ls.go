// Package file has the commands about files as such: ls, cp, mv, rm, mkdir, ln,
// chmod, stat, du, file and others.
package file

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/order"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/glob"
)

const lsOptions = "a,all A,almost-all !author b,escape B,ignore-backups c C d,directory f F,classify=~ file-type g G,no-group h,human-readable si H,dereference-command-line i,inode I,ignore= hide= k,kibibytes l L,dereference m n,numeric-uid-gid N,literal o p q,hide-control-chars Q,quote-name quoting-style= r,reverse R,recursive s,size S sort= t time= time-style= full-time !T,tabsize= u U v w,width= x X 1 color=? group-directories-first zero indicator-style= show-control-chars !block-size= !Z,context !D,dired !hyperlink=?"

// lister is a running ls.
type lister struct {
	c      *command.Call
	o      *command.Options
	long   bool
	format string // l, 1, m, C or x
	follow bool
	now    time.Time
	zone   *time.Location
	some   bool // something was printed
}

// Ls lists files.
func Ls(c *command.Call) int {
	o := c.Parse(lsOptions)
	if c.Name == "dir" {
		o.Set = append([]command.Option{{Name: "C", Value: ""}}, o.Set...)
	}
	l := &lister{c: c, o: o, now: time.Now(), zone: c.Zone(), follow: o.On("L")}
	l.format = o.Last("l", "g", "o", "n", "full-time", "1", "m", "C", "x", "zero")
	switch l.format {
	case "l", "g", "o", "n", "full-time":
		l.long, l.format = true, "l"
	case "", "zero":
		l.format = "1"
	}
	names := o.Operands(".")
	var files, dirs []command.Entry
	for _, name := range names {
		st, err := c.StatOf(name, !o.On("d") && !l.long && !o.On("F") || l.follow || o.On("H"))
		if err != nil {
			if st, err2 := c.Lstat(name); err2 == nil { // a dangling link
				files = append(files, command.Entry{Name: name, Stat: st})
				continue
			}
			c.Errorf("cannot access %s: %s", command.Quote(name), command.Text(err))
			c.Status = 2
			continue
		}
		if st.IsDir() && !o.On("d") {
			dirs = append(dirs, command.Entry{Name: name, Stat: st})
		} else {
			files = append(files, command.Entry{Name: name, Stat: st})
		}
	}
	l.sort(files)
	l.sort(dirs)
	if len(files) > 0 {
		l.print(files, "")
		l.some = true
	}
	for _, d := range dirs {
		l.dir(d.Name, len(names) > 1 || o.On("R"), 0)
		if c.Stopped() {
			break
		}
	}
	return c.Status
}

func (l *lister) dir(name string, titled bool, depth int) {
	c := l.c
	list, err := c.ReadDir(name)
	if err != nil {
		c.Errorf("cannot open directory %s: %s", command.Quote(name), command.Text(err))
		if c.Status = max(c.Status, 1); depth == 0 {
			c.Status = 2
		}
		return
	}
	if titled {
		if l.some {
			c.Print("\n")
		}
		c.Printf("%s:\n", quotef2(name, l.o))
	}
	l.some = true
	list = slices.DeleteFunc(list, func(e command.Entry) bool { return l.hidden(e.Name) })
	if l.o.Last("a", "A", "f") == "a" || l.o.On("f") {
		for _, dot := range []string{"..", "."} {
			if st, err := c.Stat(command.Join(name, dot)); err == nil {
				list = slices.Insert(list, 0, command.Entry{Name: dot, Stat: st})
			}
		}
	}
	if l.follow {
		for i := range list {
			if st, err := c.Stat(command.Join(name, list[i].Name)); err == nil {
				list[i].Stat = st
			}
		}
	}
	l.sort(list)
	if l.long || l.o.On("s") {
		var blocks int64
		for _, e := range list {
			blocks += allocated(&e.Stat)
		}
		c.Printf("total %s\n", sized(l.o, blocks, 1024))
	}
	l.print(list, name)
	if !l.o.On("R") || depth > command.MaxDepth {
		return
	}
	for _, e := range list {
		if e.IsDir() && e.Name != "." && e.Name != ".." && !c.Stopped() {
			l.dir(command.Join(name, e.Name), true, depth+1)
		}
	}
}

// allocated is what a file takes, as du counts: blocks of 512 bytes, in whole
// kibibytes.
func allocated(st *abi.Stat) int64 { return st.Blocks * 512 }

// sized is a number of bytes in units, or as -h and --si have it.
func sized(o *command.Options, n, unit int64) string {
	switch {
	case o.On("h"):
		return command.Human(n, 1024)
	case o.On("si"):
		return command.Human(n, 1000)
	}
	return strconv.FormatInt((n+unit-1)/unit, 10)
}

func (l *lister) hidden(name string) bool {
	o := l.o
	if name[0] == '.' && !o.On("a") && !o.On("A") && !o.On("f") {
		return true
	}
	for _, s := range o.Set {
		if (s.Name == "I" || s.Name == "hide" && !o.On("a") && !o.On("A")) && glob.Match(s.Value, name) {
			return true
		}
	}
	return o.On("B") && strings.HasSuffix(name, "~")
}

// sort orders entries by the last option that says how.
func (l *lister) sort(list []command.Entry) {
	o := l.o
	how := o.Last("t", "S", "U", "v", "X", "sort", "f", "c", "u")
	if how == "sort" {
		how = map[string]string{"none": "U", "size": "S", "time": "t", "version": "v", "extension": "X"}[o.Value("sort", "")]
	}
	if (how == "c" || how == "u") && l.long {
		how = o.Last("t", "S", "U", "v", "X")
	}
	if how == "U" || how == "f" {
		return
	}
	compare := func(a, b command.Entry) int { return 0 }
	switch how {
	case "t", "c", "u":
		compare = func(a, b command.Entry) int {
			x, y := l.time(&a.Stat), l.time(&b.Stat)
			return cmp.Or(cmp.Compare(y.Sec, x.Sec), cmp.Compare(y.Nsec, x.Nsec))
		}
	case "S":
		compare = func(a, b command.Entry) int { return cmp.Compare(b.Size, a.Size) }
	case "v":
		compare = func(a, b command.Entry) int { return command.CompareVersions(a.Name, b.Name) }
	case "X":
		ext := func(n string) string {
			if at := strings.LastIndexByte(n, '.'); at >= 0 {
				return n[at:]
			}
			return ""
		}
		compare = func(a, b command.Entry) int { return cmp.Compare(ext(a.Name), ext(b.Name)) }
	}
	order.Stably(list, func(a, b command.Entry) int {
		if o.On("group-directories-first") && a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		d := cmp.Or(compare(a, b), cmp.Compare(a.Name, b.Name))
		if o.On("r") {
			return -d
		}
		return d
	})
}

func (l *lister) time(st *abi.Stat) abi.Timespec {
	switch o := l.o; {
	case o.Last("c", "u", "time") == "c" || strings.HasPrefix(o.Value("time", ""), "c"):
		return st.Ctime
	case o.On("u") || strings.HasPrefix(o.Value("time", ""), "a") || o.Value("time", "") == "use":
		return st.Atime
	}
	return st.Mtime
}
