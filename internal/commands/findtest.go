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

type findTest func(*finder, *found) bool

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

func findEmpty(f *finder, e *found) bool {
	if e.st.IsDir() {
		list, err := f.c.readDir(e.path)
		return err == nil && len(list) == 0
	}
	return e.st.Mode&abi.S_IFMT == abi.S_IFREG && e.st.Size == 0
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
