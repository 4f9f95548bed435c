package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/calendar"
	"coderunner/pyodide/abi"
)

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

func findList(f *finder, e *found) bool {
	f.c.printf("%9d %6d %s %3d %-8s %-8s %8d %s %s\n", e.st.Ino, (e.st.Blocks+1)/2, modeString(e.st.Mode), e.st.Nlink,
		userName(e.st.UID, false), userName(e.st.GID, false), e.st.Size, e.st.Mtime.Time().In(f.c.zone()).Format("Jan _2 15:04"), e.path)
	return true
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
		return calendar.Format("%"+sub, at)
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
