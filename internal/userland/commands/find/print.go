package find

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/printf"
)

// output is the file of -fprint and its like, which is made even if nothing is found, and
// only once.
func (f *finder) output(name string) *bufio.Writer {
	if f.outputs == nil {
		f.outputs = map[string]*bufio.Writer{}
	}
	if f.outputs[name] == nil {
		f.outputs[name] = f.c.Output(name, 1, "")
	}
	return f.outputs[name]
}

// prints is -print, -print0, -printf or -ls.
func (f *finder) prints(name string, out *bufio.Writer) test {
	end := "\n"
	switch name {
	case "-ls":
		return func(f *finder, e *found) bool { f.list(out, e); return true }
	case "-printf":
		format := f.argument(name)
		return func(f *finder, e *found) bool { f.format(out, format, e); return true }
	case "-print0":
		end = "\x00"
	}
	return func(f *finder, e *found) bool {
		out.WriteString(e.path + end)
		return true
	}
}

func (f *finder) list(out *bufio.Writer, e *found) {
	fmt.Fprintf(out, "%9d %6d %s %3d %-8s %-8s %8d %s %s\n", e.st.Ino, (e.st.Blocks+1)/2, file.ModeString(e.st.Mode), e.st.Nlink,
		file.UserName(e.st.UID, false), file.UserName(e.st.GID, false), e.st.Size, e.st.Mtime.Time().In(f.c.Zone()).Format("Jan _2 15:04"), e.path)
}

// format prints by a format of -printf.
func (f *finder) format(out *bufio.Writer, arg string, e *found) {
	escape := func(s string) (string, int, bool) { return printf.CEscape(s, true) }
	write := func(s string) { out.WriteString(s) }
	printf.Format(arg, escape, write, func(d printf.Directive, rest string) (string, int) {
		sub := ""
		if strings.IndexByte("TAC", d.Verb) >= 0 && rest != "" {
			sub = rest[:1]
		}
		return d.FormatString(f.field(d.Verb, sub, e)), len(sub)
	})
}

// layouts are those of times in -printf that are not strftime's: their seconds have ten
// places, one more than there are.
var layouts = map[string]string{
	"+": "2006-01-02+15:04:05.000000000|0", "S": "05.000000000|0", "T": "15:04:05.000000000|0",
	"": "Mon Jan _2 15:04:05.000000000|0 2006",
}

// stamp returns a time as %T followed by sub prints it.
func (f *finder) stamp(sub string, t abi.Timespec) string {
	at := t.Time().In(f.c.Zone())
	switch layout := layouts[sub]; {
	case sub == "@":
		return fmt.Sprintf("%d.%010d", t.Sec, int64(t.Nsec)*10)
	case layout != "":
		return strings.Replace(at.Format(layout), "|", "", 1)
	}
	return clock.Format("%"+sub, at)
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
		target, _ := f.c.Readlink(e.path)
		return target
	case 't', 'T':
		return f.stamp(sub, e.st.Mtime)
	case 'a', 'A':
		return f.stamp(sub, e.st.Atime)
	case 'c', 'C':
		return f.stamp(sub, e.st.Ctime)
	}
	return ""
}
