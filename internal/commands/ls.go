package commands

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/pyodide/abi"
)

const lsOptions = "a,all A,almost-all !author b,escape B,ignore-backups c C d,directory f F,classify=? file-type g G,no-group h,human-readable si H,dereference-command-line i,inode I,ignore= hide= k,kibibytes l L,dereference m n,numeric-uid-gid N,literal o p q,hide-control-chars Q,quote-name quoting-style= r,reverse R,recursive s,size S sort= t time= time-style= full-time !T,tabsize= u U v w,width= x X 1 color=? group-directories-first zero indicator-style= show-control-chars !block-size= !Z,context !D,dired !hyperlink=?"

// lister is a running ls.
type lister struct {
	c      *call
	o      *options
	long   bool
	format string // l, 1, m, C or x
	follow bool
	now    time.Time
	zone   *time.Location
	some   bool // something was printed
}

func ls(c *call) int {
	o, status := c.options(lsOptions)
	if o == nil {
		return status
	}
	if c.name == "dir" {
		o.set = append([]option{{"C", ""}}, o.set...)
	}
	l := &lister{c: c, o: o, now: time.Now(), zone: c.zone(), follow: o.on("L")}
	l.format = o.last("l", "g", "o", "n", "full-time", "1", "m", "C", "x", "zero")
	switch l.format {
	case "l", "g", "o", "n", "full-time":
		l.long, l.format = true, "l"
	case "", "zero":
		l.format = "1"
	}
	names := o.args
	if len(names) == 0 {
		names = []string{"."}
	}
	var files, dirs []entry
	for _, name := range names {
		st, err := c.statOf(name, !o.on("d") && !l.long && !o.on("F") || l.follow || o.on("H"))
		if err != nil {
			if st, err2 := c.lstat(name); err2 == nil { // a dangling link
				files = append(files, entry{name, st})
				continue
			}
			c.errorf("cannot access %s: %s", quote(name), text(err))
			c.status = 2
			continue
		}
		if st.IsDir() && !o.on("d") {
			dirs = append(dirs, entry{name, st})
		} else {
			files = append(files, entry{name, st})
		}
	}
	l.sort(files)
	l.sort(dirs)
	if len(files) > 0 {
		l.print(files, "")
		l.some = true
	}
	for _, d := range dirs {
		l.dir(d.name, len(names) > 1 || o.on("R"), 0)
		if c.stopped() {
			break
		}
	}
	return c.status
}

// maxDepth bounds the recursion into directories; paths end before.
const maxDepth = 4096

func (l *lister) dir(name string, titled bool, depth int) {
	c := l.c
	list, err := c.readDir(name)
	if err != nil {
		c.errorf("cannot open directory %s: %s", quote(name), text(err))
		if c.status = max(c.status, 1); depth == 0 {
			c.status = 2
		}
		return
	}
	if titled {
		if l.some {
			c.print("\n")
		}
		c.printf("%s:\n", quotef2(name, l.o))
	}
	l.some = true
	list = slices.DeleteFunc(list, func(e entry) bool { return l.hidden(e.name) })
	if l.o.last("a", "A", "f") == "a" || l.o.on("f") {
		for _, dot := range []string{"..", "."} {
			if st, err := c.stat(join(name, dot)); err == nil {
				list = slices.Insert(list, 0, entry{dot, st})
			}
		}
	}
	if l.follow {
		for i := range list {
			if st, err := c.stat(join(name, list[i].name)); err == nil {
				list[i].Stat = st
			}
		}
	}
	l.sort(list)
	if l.long || l.o.on("s") {
		var blocks int64
		for _, e := range list {
			blocks += allocated(&e.Stat)
		}
		c.printf("total %s\n", l.blocks(blocks))
	}
	l.print(list, name)
	if !l.o.on("R") || depth > maxDepth {
		return
	}
	for _, e := range list {
		if e.IsDir() && e.name != "." && e.name != ".." && !c.stopped() {
			l.dir(join(name, e.name), true, depth+1)
		}
	}
}

// allocated is what a file takes, as du counts: blocks of 512 bytes, in whole
// kibibytes.
func allocated(st *abi.Stat) int64 { return st.Blocks * 512 }

func (l *lister) blocks(n int64) string {
	switch {
	case l.o.on("h"):
		return human(n, 1024)
	case l.o.on("si"):
		return human(n, 1000)
	}
	return strconv.FormatInt((n+1023)/1024, 10)
}

func (l *lister) hidden(name string) bool {
	o := l.o
	if name[0] == '.' && !o.on("a") && !o.on("A") && !o.on("f") {
		return true
	}
	for _, s := range o.set {
		if (s.name == "I" || s.name == "hide" && !o.on("a") && !o.on("A")) && fnmatch(s.value, name) {
			return true
		}
	}
	return o.on("B") && strings.HasSuffix(name, "~")
}

// sort orders entries by the last option that says how.
func (l *lister) sort(list []entry) {
	o := l.o
	how := o.last("t", "S", "U", "v", "X", "sort", "f", "c", "u")
	if how == "sort" {
		how = map[string]string{"none": "U", "size": "S", "time": "t", "version": "v", "extension": "X"}[o.value("sort", "")]
	}
	if (how == "c" || how == "u") && l.long {
		how = o.last("t", "S", "U", "v", "X")
	}
	if how == "U" || how == "f" {
		return
	}
	compare := func(a, b entry) int { return 0 }
	switch how {
	case "t", "c", "u":
		compare = func(a, b entry) int {
			x, y := l.time(&a.Stat), l.time(&b.Stat)
			return cmp.Or(cmp.Compare(y.Sec, x.Sec), cmp.Compare(y.Nsec, x.Nsec))
		}
	case "S":
		compare = func(a, b entry) int { return cmp.Compare(b.Size, a.Size) }
	case "v":
		compare = func(a, b entry) int { return compareVersions(a.name, b.name) }
	case "X":
		ext := func(n string) string {
			if at := strings.LastIndexByte(n, '.'); at >= 0 {
				return n[at:]
			}
			return ""
		}
		compare = func(a, b entry) int { return cmp.Compare(ext(a.name), ext(b.name)) }
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		if o.on("group-directories-first") && a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		d := cmp.Or(compare(a, b), cmp.Compare(a.name, b.name))
		if o.on("r") {
			return -d
		}
		return d
	})
}

func (l *lister) time(st *abi.Stat) abi.Timespec {
	switch o := l.o; {
	case o.last("c", "u", "time") == "c" || strings.HasPrefix(o.value("time", ""), "c"):
		return st.Ctime
	case o.on("u") || strings.HasPrefix(o.value("time", ""), "a") || o.value("time", "") == "use":
		return st.Atime
	}
	return st.Mtime
}
