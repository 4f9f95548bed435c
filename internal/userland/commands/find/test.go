package find

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/regex"
)

type test func(*finder, *found) bool

// tests are the tests with an argument.
var tests = map[string]func(f *finder, name, arg string) test{
	"-name": findName, "-iname": findName, "-path": findPath, "-ipath": findPath, "-wholename": findPath, "-iwholename": findPath, "-lname": link, "-ilname": link,
	"-regex": findRegex, "-iregex": findRegex, "-type": findType, "-xtype": findType, "-size": size, "-perm": perm,
	"-newer": newer, "-anewer": newer, "-cnewer": newer, "-samefile": same, "-fstype": fstype,
	"-mtime": age, "-mmin": age, "-atime": age, "-amin": age, "-ctime": age, "-cmin": age,
	"-maxdepth": depth, "-mindepth": depth, "-links": number, "-inum": number,
	"-user": user, "-group": user, "-uid": user, "-gid": user,
	"-regextype": func(*finder, string, string) test {
		return func(*finder, *found) bool { return true }
	},
}

func empty(f *finder, e *found) bool {
	if e.st.IsDir() {
		list, err := f.c.ReadDir(e.path)
		return err == nil && len(list) == 0
	}
	return e.st.Mode&abi.S_IFMT == abi.S_IFREG && e.st.Size == 0
}

// compare reads a number with "+" for more and "-" for less. The message is for one
// that is none.
func (f *finder) compare(arg, message string, args ...any) func(n int64) bool {
	sign, want := f.number(arg, message, args...)
	return func(n int64) bool {
		switch sign {
		case '+':
			return float64(n) > want
		case '-':
			return float64(n) < want
		}
		return float64(n) == want
	}
}

// number reads a number and the sign before it.
func (f *finder) number(arg, message string, args ...any) (byte, float64) {
	number, sign := arg, byte(0)
	if arg != "" && (arg[0] == '+' || arg[0] == '-') {
		sign, number = arg[0], arg[1:]
	}
	want, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Trim(number, "0123456789.") != "" {
		f.c.Exit(1, message, args...)
	}
	return sign, want
}

func findName(f *finder, name, arg string) test {
	pattern, fold := glob.Compile(arg, false), name == "-iname"
	return func(f *finder, e *found) bool { return pattern.Match(f.c.Ctx, command.Base(e.path), fold) }
}

func findPath(f *finder, name, arg string) test {
	pattern, fold := glob.Compile(arg, false), name[1] == 'i'
	return func(f *finder, e *found) bool { return pattern.Match(f.c.Ctx, e.path, fold) }
}

func link(f *finder, name, arg string) test {
	pattern, fold := glob.Compile(arg, false), name == "-ilname"
	return func(f *finder, e *found) bool {
		target, err := f.c.Readlink(e.path)
		return err == nil && e.st.Mode&abi.S_IFMT == abi.S_IFLNK && pattern.Match(f.c.Ctx, target, fold)
	}
}

func findRegex(f *finder, name, arg string) test {
	kind := ""
	for i, a := range f.c.Args[:len(f.c.Args)-1] {
		if a == "-regextype" {
			kind = f.c.Args[i+1]
		}
	}
	// Emacs's expressions, which are the default, have + and ? without backslash.
	d := regex.Dialect{Limits: f.c.Limits(), Fold: name == "-iregex", Whole: true, Extended: strings.Contains(kind, "extended") || strings.Contains(kind, "egrep") || strings.Contains(kind, "awk")}
	source := arg
	if kind == "" || kind == "emacs" {
		d.Extended = true
		source = regexp.MustCompile(`\\?[(){}|]`).ReplaceAllStringFunc(arg, func(s string) string {
			if len(s) == 2 {
				return s[1:]
			}
			return `\` + s
		})
	}
	p, err := d.Compile(source)
	f.c.Must(err)
	return func(_ *finder, e *found) bool { return p.Match([]byte(e.path)) }
}

func findType(f *finder, name, arg string) test {
	var kinds []uint32
	for _, k := range strings.ReplaceAll(arg, ",", "") {
		kind := map[rune]uint32{'f': abi.S_IFREG, 'd': abi.S_IFDIR, 'l': abi.S_IFLNK, 'p': abi.S_IFIFO, 'c': abi.S_IFCHR, 'b': abi.S_IFBLK, 's': abi.S_IFSOCK}[k]
		if kind == 0 {
			f.c.Exit(1, "Unknown argument to %s: %c", name, k)
		}
		kinds = append(kinds, kind)
	}
	if kinds == nil {
		f.c.Exit(1, "Arguments to %s should contain at least one letter", name)
	}
	return func(f *finder, e *found) bool {
		mode := e.st.Mode
		if name == "-xtype" {
			if st, err := f.c.Stat(e.path); err == nil {
				mode = st.Mode
			}
		}
		return slices.Contains(kinds, mode&abi.S_IFMT)
	}
}

func size(f *finder, name, arg string) test {
	units := map[byte]int64{'c': 1, 'w': 2, 'b': 512, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
	unit, number := int64(512), arg
	if arg != "" {
		if u := units[arg[len(arg)-1]]; u > 0 {
			unit, number = u, arg[:len(arg)-1]
		}
	}
	ok := f.compare(number, "Invalid argument `%s' to -size", arg)
	return func(_ *finder, e *found) bool { return ok((e.st.Size + unit - 1) / unit) }
}

func perm(f *finder, _, arg string) test {
	kind, mode := byte(0), arg
	if arg != "" && (arg[0] == '-' || arg[0] == '/') {
		kind, mode = arg[0], arg[1:]
	}
	to, ok := file.ParseMode(mode)
	if !ok {
		f.c.Exit(1, "invalid mode %s", command.Quote(arg))
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
	}
}

func same(f *finder, _, arg string) test {
	st, err := f.c.Stat(arg)
	f.c.Need(err, 1, "%s", command.Quote(arg))
	return func(_ *finder, e *found) bool { return e.st.Ino == st.Ino && e.st.Dev == st.Dev }
}

func depth(f *finder, name, arg string) test {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 0 {
		f.c.Exit(1, "Expected a positive decimal integer argument to %s, but got %s", name, command.Quote(arg))
	}
	if name == "-maxdepth" {
		f.most = min(n, command.MaxDepth)
	} else {
		f.least = n
	}
	return func(*finder, *found) bool { return true }
}

func number(f *finder, name, arg string) test {
	ok := f.compare(arg, "invalid argument `%s' to `%s'", arg, name)
	return func(_ *finder, e *found) bool {
		if name == "-inum" {
			return ok(int64(e.st.Ino))
		}
		return ok(int64(e.st.Nlink))
	}
}

// user tests who owns a file. Whoever is not known here is a mistake, as everywhere.
func user(f *finder, name, arg string) test {
	if _, err := strconv.ParseUint(arg, 10, 32); err != nil && arg != "root" {
		if strings.HasPrefix(name, "-g") {
			f.c.Exit(1, "%s is not the name of an existing group", command.Quote(arg))
		}
		f.c.Exit(1, "%s is not the name of a known user", command.Quote(arg))
	}
	return func(_ *finder, e *found) bool {
		id := e.st.UID
		if strings.HasPrefix(name, "-g") {
			id = e.st.GID
		}
		return arg == file.UserName(id, false) || arg == file.UserName(id, true)
	}
}

// nobody is -nouser and -nogroup: a file of somebody who has no name.
func nobody(name string) test {
	return func(_ *finder, e *found) bool {
		id := e.st.UID
		if name == "-nogroup" {
			id = e.st.GID
		}
		return file.UserName(id, false) == file.UserName(id, true)
	}
}

func fstype(_ *finder, _, arg string) test {
	return func(*finder, *found) bool { return arg == "tmpfs" }
}
