package find

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/calendar"
	"coderunner/internal/commands/command"
	"coderunner/internal/commands/file"
	"coderunner/internal/commands/printf"
	"coderunner/pyodide/abi"
)

func findPrint(end string) test {
	return func(f *finder, e *found) bool {
		f.c.Print(e.path + end)
		return true
	}
}

func findDelete(f *finder, e *found) bool {
	if e.path == "." {
		return true
	}
	var err abi.Errno
	if e.st.IsDir() {
		err = f.c.FS.Rmdir(nil, f.c.Abs(e.path))
	} else {
		err = f.c.FS.Unlink(nil, f.c.Abs(e.path))
	}
	if err != abi.OK {
		f.fail("cannot delete %s: %s", command.Quote(e.path), command.Text(err))
	}
	return err == abi.OK
}

func list(f *finder, e *found) bool {
	f.c.Printf("%9d %6d %s %3d %-8s %-8s %8d %s %s\n", e.st.Ino, (e.st.Blocks+1)/2, file.ModeString(e.st.Mode), e.st.Nlink,
		file.UserName(e.st.UID, false), file.UserName(e.st.GID, false), e.st.Size, e.st.Mtime.Time().In(f.c.Zone()).Format("Jan _2 15:04"), e.path)
	return true
}

// findPrintf prints by a format.
func findPrintf(_ *finder, _, arg string) test {
	return func(f *finder, e *found) bool {
		for i := 0; i < len(arg); i++ {
			switch {
			case arg[i] == '\\':
				text, n, stop := printf.CEscape(arg[i:], true)
				if stop {
					return true
				}
				f.c.Print(text)
				i += n - 1
			case arg[i] == '%' && i+1 < len(arg):
				if arg[i+1] == '%' {
					f.c.Print("%")
					i++
					continue
				}
				d, rest, ok := printf.NextDirective(arg[i:])
				if !ok {
					f.c.Print(arg[i:])
					return true
				}
				i = len(arg) - len(rest) - 1
				verb := ""
				if strings.IndexByte("TAC", d.Verb) >= 0 && rest != "" {
					verb = rest[:1]
					i++
				}
				f.c.Print(d.FormatString(f.field(d.Verb, verb, e)))
			default:
				f.c.Out.WriteByte(arg[i])
			}
		}
		return true
	}
}

// layouts are those of times in -printf that are not strftime's.
var layouts = map[string]string{
	"+": "2006-01-02+15:04:05.0000000000", "S": "05.0000000000", "T": "15:04:05.0000000000",
	"": "Mon Jan _2 15:04:05.0000000000 2006",
}

// stamp returns a time as %T followed by sub prints it.
func (f *finder) stamp(sub string, t abi.Timespec) string {
	at := t.Time().In(f.c.Zone())
	switch layout := layouts[sub]; {
	case sub == "@":
		return fmt.Sprintf("%d.%010d", t.Sec, int64(t.Nsec)*10)
	case layout != "":
		return at.Format(layout)
	}
	return calendar.Format("%"+sub, at)
}

// field returns what a directive of -printf stands for.
func (f *finder) field(verb byte, sub string, e *found) string {
	switch verb {
	case 'p':
		return e.path
	case 'P':
		return strings.TrimPrefix(strings.TrimPrefix(e.path, e.root), "/")
	case 'f':
		return command.Base(e.path)
	case 'h':
		return command.Dir(e.path)
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
		return file.ModeString(e.st.Mode)
	case 'i':
		return strconv.FormatUint(e.st.Ino, 10)
	case 'n':
		return strconv.Itoa(int(e.st.Nlink))
	case 'u', 'g':
		return file.UserName(e.st.UID, false)
	case 'U', 'G':
		return file.UserName(e.st.UID, true)
	case 'y', 'Y':
		return map[uint32]string{abi.S_IFREG: "f", abi.S_IFDIR: "d", abi.S_IFLNK: "l", abi.S_IFIFO: "p", abi.S_IFCHR: "c", abi.S_IFSOCK: "s"}[e.st.Mode&abi.S_IFMT]
	case 'l':
		if n, err := f.c.Lookup(e.path, false); err == abi.OK {
			target, _ := f.c.FS.Readlink(n)
			return target
		}
	case 't', 'T':
		return f.stamp(sub, e.st.Mtime)
	case 'a', 'A':
		return f.stamp(sub, e.st.Atime)
	case 'c', 'C':
		return f.stamp(sub, e.st.Ctime)
	}
	return ""
}

// exec parses -exec, -execdir and -ok.
func (f *finder) exec(name string) *node {
	end := slices.IndexFunc(f.args, func(a string) bool { return a == ";" })
	for i, a := range f.args {
		if a == "+" && i > 0 && f.args[i-1] == "{}" && (end < 0 || i < end) {
			n := &node{args: f.args[:i-1]}
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
			return n
		}
	}
	if end <= 0 {
		f.c.Exit(1, "missing argument to `%s'", name)
	}
	argv := f.args[:end]
	f.args = f.args[end+1:]
	return &node{test: func(f *finder, e *found) bool {
		path, ch := e.path, command.Child{}
		if name == "-execdir" {
			path, ch.Dir = "./"+command.Base(e.path), f.c.Canonical(command.Dir(e.path), true)
		}
		for _, a := range argv {
			ch.Args = append(ch.Args, strings.ReplaceAll(a, "{}", path))
		}
		if name == "-ok" {
			f.c.Warnf("< %s ... %s > ? ", ch.Args[0], e.path)
			if !file.Yes(f.c) {
				return false
			}
		}
		status, err := f.c.Run(ch)
		if err != nil {
			f.fail("%s: %s", command.Quote(ch.Args[0]), command.Text(err))
		}
		return status == 0
	}}
}

func (f *finder) runBatch(n *node) {
	if len(n.held) == 0 {
		return
	}
	ch := command.Child{Args: append(slices.Clone(n.args), n.held...)}
	n.held, n.size = nil, 0
	status, err := f.c.Run(ch)
	if err != nil {
		f.c.Errorf("%s: %s", command.Quote(ch.Args[0]), command.Text(err))
	}
	if status != 0 {
		f.status = 1
	}
}
