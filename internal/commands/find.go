package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/pyodide/abi"
)

// finder is a running find.
type finder struct {
	c          *call
	expr       *findNode
	follow     bool // -L
	operands   bool // -H
	depthFirst bool
	least      int
	most       int
	xdev       bool
	quit       bool
	now        time.Time
	batches    []*findNode // -exec … +
	status     int
	pruned     bool
	args       []string
}

// found is a file that find looks at.
type found struct {
	path, root string
	depth      int
	st         abi.Stat
}

// findNode is a part of the expression.
type findNode struct {
	op   string // and, or, not, comma, or a test
	a, b *findNode
	test func(*finder, *found) bool
	args []string // of -exec … +: the command
	held []string
	size int
}

func find(c *call) int {
	f := &finder{c: c, most: maxDepth, now: time.Now()}
	args := c.args
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-H" || args[0] == "-P") {
		f.follow, f.operands = args[0] == "-L", args[0] == "-H"
		args = args[1:]
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "--version" || args[0] == "-help" || args[0] == "-version") {
		c.about(strings.TrimLeft(args[0], "-"))
		return 0
	}
	var roots []string
	for len(args) > 0 && (args[0] == "" || args[0][0] != '-' || args[0] == "-") && args[0] != "(" && args[0] != "!" && args[0] != ")" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if roots == nil {
		roots = []string{"."}
	}
	f.args = args
	if err := f.parse(); err != nil {
		return c.die(1, "%s", err)
	}
	for _, r := range roots {
		st, err := c.statOf(r, f.follow || f.operands)
		if err != nil {
			if st, err = c.lstat(r); err != nil {
				f.fail("%s: %s", quote(r), text(err))
				continue
			}
		}
		f.walk(&found{path: r, root: r, st: st})
		if f.quit || c.stopped() {
			break
		}
	}
	for _, b := range f.batches {
		f.runBatch(b)
	}
	return f.status
}

func (f *finder) fail(format string, args ...any) {
	f.status = 1
	f.c.errorf(format, args...)
}

func (f *finder) walk(e *found) {
	if f.quit || f.c.stopped() {
		return
	}
	visit := func() {
		if e.depth >= f.least {
			f.eval(f.expr, e)
		}
	}
	f.pruned = false
	if !f.depthFirst {
		visit()
	}
	if e.st.IsDir() && e.depth < f.most && !(f.pruned && !f.depthFirst) && !f.quit {
		list, err := f.c.readDir(e.path)
		if err != nil {
			f.fail("%s: %s", quote(e.path), text(err))
		}
		for _, l := range list {
			child := &found{path: join(e.path, l.name), root: e.root, depth: e.depth + 1, st: l.Stat}
			if f.follow && l.Mode&abi.S_IFMT == abi.S_IFLNK {
				if st, err := f.c.stat(child.path); err == nil && !(st.IsDir() && f.loops(child.path, st)) {
					child.st = st
				}
			}
			f.walk(child)
		}
	}
	if f.depthFirst {
		visit()
	}
}

// loops reports whether a directory is one of those above it.
func (f *finder) loops(path string, st abi.Stat) bool {
	for p := dir(path); ; p = dir(p) {
		if up, err := f.c.stat(p); err == nil && up.Ino == st.Ino && up.Dev == st.Dev {
			f.fail("File system loop detected; %s is part of the same file system loop as %s.", quote(path), quote(p))
			return true
		}
		if p == "." || p == "/" {
			return false
		}
	}
}

func (f *finder) eval(n *findNode, e *found) bool {
	switch n.op {
	case "and":
		return f.eval(n.a, e) && !f.quit && f.eval(n.b, e)
	case "or":
		return f.eval(n.a, e) || !f.quit && f.eval(n.b, e)
	case "comma":
		f.eval(n.a, e)
		return f.eval(n.b, e)
	case "not":
		return !f.eval(n.a, e)
	}
	return n.test(f, e)
}

// parse parses the expression. -print is added if nothing acts.
func (f *finder) parse() error {
	acts := slices.ContainsFunc(f.args, func(a string) bool {
		switch a {
		case "-print", "-print0", "-printf", "-fprint", "-fprintf", "-exec", "-execdir", "-ok", "-delete", "-ls", "-quit":
			return true
		}
		return false
	})
	if !acts || len(f.args) == 0 {
		print := &findNode{test: findPrint("\n")}
		if len(f.args) == 0 {
			f.expr = print
			return nil
		}
		n, err := f.comma(0)
		if err != nil {
			return err
		}
		f.expr = &findNode{op: "and", a: n, b: print}
	} else {
		n, err := f.comma(0)
		if err != nil {
			return err
		}
		f.expr = n
	}
	if len(f.args) > 0 {
		if f.args[0] == ")" {
			return fmt.Errorf("invalid expression; you have used a ')' without a matching '('")
		}
		return fmt.Errorf("paths must precede expression: `%s'", f.args[0])
	}
	return nil
}

func (f *finder) peek() string {
	if len(f.args) > 0 {
		return f.args[0]
	}
	return ""
}

func (f *finder) comma(depth int) (*findNode, error) {
	n, err := f.or(depth)
	for err == nil && f.peek() == "," {
		f.args = f.args[1:]
		var b *findNode
		b, err = f.or(depth)
		n = &findNode{op: "comma", a: n, b: b}
	}
	return n, err
}

func (f *finder) or(depth int) (*findNode, error) {
	n, err := f.and(depth)
	for err == nil && (f.peek() == "-o" || f.peek() == "-or") {
		op := f.peek()
		f.args = f.args[1:]
		if len(f.args) == 0 {
			return nil, fmt.Errorf("invalid expression; you have used a binary operator '%s' with nothing after it.", op)
		}
		var b *findNode
		b, err = f.and(depth)
		n = &findNode{op: "or", a: n, b: b}
	}
	return n, err
}

func (f *finder) and(depth int) (*findNode, error) {
	n, err := f.not(depth)
	for err == nil && len(f.args) > 0 && !slices.Contains([]string{"-o", "-or", ")", ","}, f.peek()) {
		if p := f.peek(); p == "-a" || p == "-and" {
			f.args = f.args[1:]
		} else if p == "" || p[0] != '-' && p != "(" && p != "!" {
			return n, nil
		}
		var b *findNode
		b, err = f.not(depth)
		n = &findNode{op: "and", a: n, b: b}
	}
	return n, err
}

func (f *finder) not(depth int) (*findNode, error) {
	if depth > 500 {
		return nil, fmt.Errorf("the expression is nested too deeply")
	}
	switch op := f.peek(); op {
	case "!", "-not":
		f.args = f.args[1:]
		if len(f.args) == 0 {
			return nil, fmt.Errorf("expected an expression after '%s'", op)
		}
		n, err := f.not(depth + 1)
		return &findNode{op: "not", a: n}, err
	case "(":
		f.args = f.args[1:]
		if f.peek() == ")" {
			return nil, fmt.Errorf("invalid expression; empty parentheses are not allowed.")
		}
		n, err := f.comma(depth + 1)
		if err != nil {
			return nil, err
		}
		if f.peek() != ")" {
			return nil, fmt.Errorf("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
		}
		f.args = f.args[1:]
		return n, nil
	}
	return f.primary()
}

// argument takes the argument of a test.
func (f *finder) argument(test string) (string, error) {
	if len(f.args) == 0 {
		return "", fmt.Errorf("missing argument to `%s'", test)
	}
	a := f.args[0]
	f.args = f.args[1:]
	return a, nil
}

func (f *finder) primary() (*findNode, error) {
	name := f.peek()
	if len(f.args) > 0 {
		f.args = f.args[1:]
	}
	leaf := func(t func(*finder, *found) bool) (*findNode, error) { return &findNode{test: t}, nil }
	always := func(*finder, *found) bool { return true }
	switch name {
	case "-true", "-noleaf", "-mount", "-xdev", "-ignore_readdir_race", "-daystart", "-warn", "-nowarn":
		return leaf(always)
	case "-false":
		return leaf(func(*finder, *found) bool { return false })
	case "-depth", "-d":
		f.depthFirst = true
		return leaf(always)
	case "-follow":
		f.follow = true
		return leaf(always)
	case "-print":
		return leaf(findPrint("\n"))
	case "-print0":
		return leaf(findPrint("\x00"))
	case "-prune":
		return leaf(func(f *finder, _ *found) bool { f.pruned = true; return true })
	case "-quit":
		return leaf(func(f *finder, _ *found) bool { f.quit = true; return true })
	case "-delete":
		f.depthFirst = true
		return leaf(findDelete)
	case "-empty":
		return leaf(findEmpty)
	case "-ls":
		return leaf(findList)
	case "-readable", "-writable", "-executable":
		mode := map[string]uint32{"-readable": abi.R_OK, "-writable": abi.W_OK, "-executable": abi.X_OK}[name]
		return leaf(func(f *finder, e *found) bool {
			n, err := f.c.lookup(e.path, true)
			return err == abi.OK && f.c.fs.Access(n, mode) == abi.OK
		})
	case "-exec", "-execdir", "-ok":
		return f.exec(name)
	}
	test, ok := findTests[name]
	if !ok {
		if strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("unknown predicate `%s'", name)
		}
		return nil, fmt.Errorf("paths must precede expression: `%s'", name)
	}
	arg, err := f.argument(name)
	if err != nil {
		return nil, err
	}
	t, err := test(f, name, arg)
	return &findNode{test: t}, err
}

type findTest func(*finder, *found) bool

func findPrint(end string) findTest {
	return func(f *finder, e *found) bool {
		f.c.print(e.path + end)
		return true
	}
}

func findDelete(f *finder, e *found) bool {
	if e.path == "." {
		return true
	}
	var err abi.Errno
	if e.st.IsDir() {
		err = f.c.fs.Rmdir(nil, f.c.abs(e.path))
	} else {
		err = f.c.fs.Unlink(nil, f.c.abs(e.path))
	}
	if err != abi.OK {
		f.fail("cannot delete %s: %s", quote(e.path), text(err))
	}
	return err == abi.OK
}

func findEmpty(f *finder, e *found) bool {
	if e.st.IsDir() {
		list, err := f.c.readDir(e.path)
		return err == nil && len(list) == 0
	}
	return e.st.Mode&abi.S_IFMT == abi.S_IFREG && e.st.Size == 0
}

func findList(f *finder, e *found) bool {
	f.c.printf("%9d %6d %s %3d %-8s %-8s %8d %s %s\n", e.st.Ino, (e.st.Blocks+1)/2, modeString(e.st.Mode), e.st.Nlink,
		userName(e.st.UID, false), userName(e.st.GID, false), e.st.Size, e.st.Mtime.Time().In(f.c.zone()).Format("Jan _2 15:04"), e.path)
	return true
}

// findCompare reads a number with "+" for more and "-" for less.
func findCompare(name, arg string) (func(n int64) bool, error) {
	number, sign := arg, byte(0)
	if arg != "" && (arg[0] == '+' || arg[0] == '-') {
		sign, number = arg[0], arg[1:]
	}
	want, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("invalid argument `%s' to `%s'", arg, name)
	}
	return func(n int64) bool {
		switch sign {
		case '+':
			return n > want
		case '-':
			return n < want
		}
		return n == want
	}, nil
}

// findTests are the tests with an argument.
var findTests = map[string]func(f *finder, name, arg string) (findTest, error){
	"-name": findName, "-iname": findName, "-path": findPath, "-ipath": findPath, "-wholename": findPath, "-lname": findLink,
	"-regex": findRegex, "-iregex": findRegex, "-type": findType, "-xtype": findType, "-size": findSize, "-perm": findPerm,
	"-newer": findNewer, "-newermt": findNewer, "-anewer": findNewer, "-cnewer": findNewer, "-samefile": findSame,
	"-mtime": findAge, "-mmin": findAge, "-atime": findAge, "-amin": findAge, "-ctime": findAge, "-cmin": findAge,
	"-maxdepth": findDepth, "-mindepth": findDepth, "-printf": findPrintf, "-links": findNumber, "-inum": findNumber,
	"-user": findUser, "-group": findUser, "-uid": findUser, "-gid": findUser,
	"-regextype": func(*finder, string, string) (findTest, error) {
		return func(*finder, *found) bool { return true }, nil
	},
}

func findName(_ *finder, name, arg string) (findTest, error) {
	fold := name == "-iname"
	return func(_ *finder, e *found) bool { return match(arg, base(e.path), fold) }, nil
}

func findPath(_ *finder, name, arg string) (findTest, error) {
	fold := name == "-ipath"
	return func(_ *finder, e *found) bool { return match(arg, e.path, fold) }, nil
}

func findLink(_ *finder, _, arg string) (findTest, error) {
	return func(f *finder, e *found) bool {
		n, err := f.c.lookup(e.path, false)
		if err != abi.OK {
			return false
		}
		target, err := f.c.fs.Readlink(n)
		return err == abi.OK && match(arg, target, false)
	}, nil
}

func findRegex(f *finder, name, arg string) (findTest, error) {
	kind := ""
	for i, a := range f.c.args[:len(f.c.args)-1] {
		if a == "-regextype" {
			kind = f.c.args[i+1]
		}
	}
	// Emacs's expressions, which are the default, have + and ? without backslash.
	d := dialect{fold: name == "-iregex", whole: true, extended: strings.Contains(kind, "extended") || strings.Contains(kind, "egrep") || strings.Contains(kind, "awk")}
	source := arg
	if kind == "" || kind == "emacs" {
		d.extended = true
		source = regexp.MustCompile(`\\?[(){}|]`).ReplaceAllStringFunc(arg, func(s string) string {
			if len(s) == 2 {
				return s[1:]
			}
			return `\` + s
		})
	}
	p, err := d.compile(source)
	if err != nil {
		return nil, err
	}
	return func(_ *finder, e *found) bool { return p.Match([]byte(e.path)) }, nil
}

func findType(_ *finder, name, arg string) (findTest, error) {
	var kinds []uint32
	for _, k := range strings.ReplaceAll(arg, ",", "") {
		kind := map[rune]uint32{'f': abi.S_IFREG, 'd': abi.S_IFDIR, 'l': abi.S_IFLNK, 'p': abi.S_IFIFO, 'c': abi.S_IFCHR, 'b': abi.S_IFBLK, 's': abi.S_IFSOCK}[k]
		if kind == 0 {
			return nil, fmt.Errorf("Unknown argument to %s: %c", name, k)
		}
		kinds = append(kinds, kind)
	}
	if kinds == nil {
		return nil, fmt.Errorf("Arguments to %s should contain at least one letter", name)
	}
	return func(f *finder, e *found) bool {
		mode := e.st.Mode
		if name == "-xtype" {
			if st, err := f.c.stat(e.path); err == nil {
				mode = st.Mode
			}
		}
		return slices.Contains(kinds, mode&abi.S_IFMT)
	}, nil
}

func findSize(_ *finder, name, arg string) (findTest, error) {
	units := map[byte]int64{'c': 1, 'w': 2, 'b': 512, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
	unit, number := int64(512), arg
	if arg != "" {
		if u := units[arg[len(arg)-1]]; u > 0 {
			unit, number = u, arg[:len(arg)-1]
		}
	}
	ok, err := findCompare(name, number)
	if err != nil {
		return nil, fmt.Errorf("Invalid argument `%s' to -size", arg)
	}
	return func(_ *finder, e *found) bool { return ok((e.st.Size + unit - 1) / unit) }, nil
}

func findPerm(_ *finder, _, arg string) (findTest, error) {
	kind, mode := byte(0), arg
	if arg != "" && (arg[0] == '-' || arg[0] == '/') {
		kind, mode = arg[0], arg[1:]
	}
	to, ok := parseMode(mode)
	if !ok {
		return nil, fmt.Errorf("invalid mode %s", quote(arg))
	}
	want := to(0, false, 0)
	return func(_ *finder, e *found) bool {
		switch kind {
		case '-':
			return e.st.Mode&want == want
		case '/':
			return want == 0 || e.st.Mode&want != 0
		}
		return e.st.Mode&0o7777 == want
	}, nil
}

func findNewer(f *finder, name, arg string) (findTest, error) {
	var than abi.Timespec
	if name == "-newermt" {
		t, ok := parseDate(arg, f.c.zone())
		if !ok {
			return nil, fmt.Errorf("I cannot figure out how to interpret %s as a date or time", quote(arg))
		}
		than = abi.NewTimespec(t)
	} else {
		st, err := f.c.stat(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", quote(arg), text(err))
		}
		than = st.Mtime
	}
	return func(_ *finder, e *found) bool { return than.Before(e.st.Mtime) }, nil
}

func findSame(f *finder, _, arg string) (findTest, error) {
	st, err := f.c.stat(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", quote(arg), text(err))
	}
	return func(_ *finder, e *found) bool { return e.st.Ino == st.Ino && e.st.Dev == st.Dev }, nil
}

func findAge(_ *finder, name, arg string) (findTest, error) {
	ok, err := findCompare(name, arg)
	if err != nil {
		return nil, err
	}
	unit := 24 * time.Hour
	if strings.HasSuffix(name, "min") {
		unit = time.Minute
	}
	return func(f *finder, e *found) bool {
		t := map[byte]abi.Timespec{'m': e.st.Mtime, 'a': e.st.Atime, 'c': e.st.Ctime}[name[1]]
		age := f.now.Sub(t.Time())
		if unit == time.Minute { // rounded up, as GNU's
			age += unit - 1
		}
		return ok(int64(age / unit))
	}, nil
}

func findDepth(f *finder, name, arg string) (findTest, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("Expected a positive decimal integer argument to %s, but got %s", name, quote(arg))
	}
	if name == "-maxdepth" {
		f.most = min(n, maxDepth)
	} else {
		f.least = n
	}
	return func(*finder, *found) bool { return true }, nil
}

func findNumber(_ *finder, name, arg string) (findTest, error) {
	ok, err := findCompare(name, arg)
	if err != nil {
		return nil, err
	}
	return func(_ *finder, e *found) bool {
		if name == "-inum" {
			return ok(int64(e.st.Ino))
		}
		return ok(int64(e.st.Nlink))
	}, nil
}

func findUser(_ *finder, name, arg string) (findTest, error) {
	return func(_ *finder, e *found) bool {
		id := e.st.UID
		if strings.HasPrefix(name, "-g") {
			id = e.st.GID
		}
		return arg == userName(id, false) || arg == userName(id, true)
	}, nil
}

// findPrintf prints by a format.
func findPrintf(_ *finder, _, arg string) (findTest, error) {
	return func(f *finder, e *found) bool {
		for i := 0; i < len(arg); i++ {
			switch {
			case arg[i] == '\\':
				text, n, stop := cEscape(arg[i:], true)
				if stop {
					return true
				}
				f.c.print(text)
				i += n - 1
			case arg[i] == '%' && i+1 < len(arg):
				if arg[i+1] == '%' {
					f.c.print("%")
					i++
					continue
				}
				d, rest, ok := nextDirective(arg[i:])
				if !ok {
					f.c.print(arg[i:])
					return true
				}
				i = len(arg) - len(rest) - 1
				verb := ""
				if strings.IndexByte("TAC", d.verb) >= 0 && rest != "" {
					verb = rest[:1]
					i++
				}
				f.c.print(d.formatString(f.field(d.verb, verb, e)))
			default:
				f.c.out.WriteByte(arg[i])
			}
		}
		return true
	}, nil
}

func (f *finder) field(verb byte, sub string, e *found) string {
	stamp := func(t abi.Timespec) string {
		at := t.Time().In(f.c.zone())
		switch sub {
		case "@":
			return fmt.Sprintf("%d.%010d", t.Sec, int64(t.Nsec)*10)
		case "+":
			return at.Format("2006-01-02+15:04:05.0000000000")
		case "S":
			return at.Format("05.0000000000")
		case "T":
			return at.Format("15:04:05.0000000000")
		case "":
			return at.Format("Mon Jan _2 15:04:05.0000000000 2006")
		}
		return strftime("%"+sub, at)
	}
	switch verb {
	case 'p':
		return e.path
	case 'P':
		return strings.TrimPrefix(strings.TrimPrefix(e.path, e.root), "/")
	case 'f':
		return base(e.path)
	case 'h':
		return dir(e.path)
	case 'H':
		return e.root
	case 'd':
		return strconv.Itoa(e.depth)
	case 's':
		return strconv.FormatInt(e.st.Size, 10)
	case 'k':
		return strconv.FormatInt((e.st.Blocks+1)/2, 10)
	case 'b':
		return strconv.FormatInt(e.st.Blocks, 10)
	case 'm':
		return strconv.FormatUint(uint64(e.st.Mode&0o7777), 8)
	case 'M':
		return modeString(e.st.Mode)
	case 'i':
		return strconv.FormatUint(e.st.Ino, 10)
	case 'n':
		return strconv.Itoa(int(e.st.Nlink))
	case 'u', 'g':
		return userName(e.st.UID, false)
	case 'U', 'G':
		return userName(e.st.UID, true)
	case 'y', 'Y':
		return map[uint32]string{abi.S_IFREG: "f", abi.S_IFDIR: "d", abi.S_IFLNK: "l", abi.S_IFIFO: "p", abi.S_IFCHR: "c", abi.S_IFSOCK: "s"}[e.st.Mode&abi.S_IFMT]
	case 'l':
		if n, err := f.c.lookup(e.path, false); err == abi.OK {
			target, _ := f.c.fs.Readlink(n)
			return target
		}
	case 't', 'T':
		return stamp(e.st.Mtime)
	case 'a', 'A':
		return stamp(e.st.Atime)
	case 'c', 'C':
		return stamp(e.st.Ctime)
	}
	return ""
}

// exec parses -exec, -execdir and -ok.
func (f *finder) exec(name string) (*findNode, error) {
	end := slices.IndexFunc(f.args, func(a string) bool { return a == ";" })
	for i, a := range f.args {
		if a == "+" && i > 0 && f.args[i-1] == "{}" && (end < 0 || i < end) {
			n := &findNode{args: f.args[:i-1]}
			n.test = func(f *finder, e *found) bool {
				if n.size += len(e.path) + 1; n.size > 128<<10 {
					f.runBatch(n)
					n.size = len(e.path) + 1
				}
				n.held = append(n.held, e.path)
				return true
			}
			f.batches = append(f.batches, n)
			f.args = f.args[i+1:]
			return n, nil
		}
	}
	if end <= 0 {
		return nil, fmt.Errorf("missing argument to `%s'", name)
	}
	command := f.args[:end]
	f.args = f.args[end+1:]
	return &findNode{test: func(f *finder, e *found) bool {
		path, ch := e.path, child{}
		if name == "-execdir" {
			path, ch.dir = "./"+base(e.path), f.c.canonical(dir(e.path), true)
		}
		for _, a := range command {
			ch.args = append(ch.args, strings.ReplaceAll(a, "{}", path))
		}
		if name == "-ok" {
			f.c.warnf("< %s ... %s > ? ", ch.args[0], e.path)
			if !f.c.yes() {
				return false
			}
		}
		status, err := f.c.run(ch)
		if err != nil {
			f.fail("%s: %s", quote(ch.args[0]), text(err))
		}
		return status == 0
	}}, nil
}

func (f *finder) runBatch(n *findNode) {
	if len(n.held) == 0 {
		return
	}
	ch := child{args: append(slices.Clone(n.args), n.held...)}
	n.held, n.size = nil, 0
	status, err := f.c.run(ch)
	if err != nil {
		f.c.errorf("%s: %s", quote(ch.args[0]), text(err))
	}
	if status != 0 {
		f.status = 1
	}
}
