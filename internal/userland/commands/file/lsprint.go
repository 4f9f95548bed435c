package file

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

// label is a name as it is shown.
func (l *lister) label(e *command.Entry, dir string) string {
	name := quotef2(e.Name, l.o)
	if l.o.Value("color", "") == "always" {
		if color := colorOf(e.Mode); color != "" {
			name = "\x1b[0m\x1b[" + color + "m" + name + "\x1b[0m"
		}
	}
	if l.long && e.Mode&abi.S_IFMT == abi.S_IFLNK {
		path := e.Name
		if dir != "" {
			path = command.Join(dir, e.Name)
		}
		if target, err := l.c.Readlink(path); err == nil {
			name += " -> " + quotef2(target, l.o)
			if st, err := l.c.Stat(path); err == nil {
				return name + l.mark(st.Mode)
			}
			return name
		}
	}
	return name + l.mark(e.Mode)
}

func colorOf(mode uint32) string {
	switch mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return "01;34"
	case abi.S_IFLNK:
		return "01;36"
	case abi.S_IFIFO:
		return "33"
	}
	if mode&0o111 != 0 {
		return "01;32"
	}
	return ""
}

// mark is the character that -F and -p append.
func (l *lister) mark(mode uint32) string {
	o := l.o
	style := o.Value("indicator-style", "")
	all := o.On("F") && o.Value("F", "") != "never" || style == "classify"
	types := all || o.On("file-type") || style == "file-type"
	switch mode & abi.S_IFMT {
	case abi.S_IFDIR:
		if types || o.On("p") || style == "slash" {
			return "/"
		}
	case abi.S_IFLNK:
		if types && !l.long {
			return "@"
		}
	case abi.S_IFIFO:
		if types {
			return "|"
		}
	case abi.S_IFREG:
		if all && mode&0o111 != 0 {
			return "*"
		}
	}
	return ""
}

// quotef2 quotes a name if -Q or -b ask for it.
func quotef2(name string, o *command.Options) string {
	style := o.Value("quoting-style", "")
	switch {
	case o.On("Q") || style == "c":
		return strconv.Quote(name)
	case o.On("b") || style == "escape":
		q := strconv.Quote(name)
		return strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), " ", `\ `)
	case strings.HasPrefix(style, "shell"):
		return command.Quotef(name)
	case o.On("q"):
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return '?'
			}
			return r
		}, name)
	}
	return name
}

func (l *lister) print(list []command.Entry, dir string) {
	if len(list) == 0 {
		return
	}
	if l.long {
		l.table(list, dir)
		return
	}
	end := string(command.LineEnd(l.o.On("zero")))
	labels := make([]string, len(list))
	for i := range list {
		labels[i] = l.label(&list[i], dir)
		if l.o.On("s") {
			labels[i] = fmt.Sprintf("%3s %s", sized(l.o, allocated(&list[i].Stat), 1024), labels[i])
		}
		if l.o.On("i") {
			labels[i] = fmt.Sprintf("%d %s", list[i].Ino, labels[i])
		}
	}
	width := 80
	if n, ok := command.Atoi(l.o.Value("w", l.c.Env("COLUMNS"))); ok && n > 0 {
		width = n
	}
	switch l.format {
	case "m":
		line := ""
		for i, s := range labels {
			if i < len(labels)-1 {
				s += ","
			}
			if line != "" && len(line)+1+len(s) > width-1 {
				l.c.Print(line + "\n")
				line = s
			} else if line != "" {
				line += " " + s
			} else {
				line = s
			}
		}
		l.c.Print(line + end)
	case "C", "x":
		l.c.Print(columns(labels, width, l.format == "x"))
	default:
		l.c.Print(strings.Join(labels, end) + end)
	}
}

// table prints the long format.
func (l *lister) table(list []command.Entry, dir string) {
	var rows [][]string
	for i := range list {
		rows = append(rows, l.row(&list[i], dir))
	}
	var widths [8]int
	for _, r := range rows {
		for i, s := range r {
			if i < len(widths) {
				widths[i] = max(widths[i], len(s))
			}
		}
	}
	for _, r := range rows {
		var parts []string
		for col, s := range r {
			switch {
			case widths[min(col, 7)] == 0 && col < 7:
			case col == 2 || col == 7:
				parts = append(parts, s)
			case col == 4 || col == 5:
				parts = append(parts, fmt.Sprintf("%-*s", widths[col], s))
			default:
				parts = append(parts, fmt.Sprintf("%*s", widths[col], s))
			}
		}
		l.c.Print(strings.Join(parts, " ") + "\n")
	}
}

// row is the columns of a file: inode, blocks, mode, links, owner, group, size,
// time with name.
func (l *lister) row(e *command.Entry, dir string) []string {
	o := l.o
	r := make([]string, 8)
	if o.On("i") {
		r[0] = strconv.FormatUint(e.Ino, 10)
	}
	if o.On("s") {
		r[1] = sized(l.o, allocated(&e.Stat), 1024)
	}
	r[2] = ModeString(e.Mode)
	r[3] = strconv.Itoa(int(e.Nlink))
	if !o.On("g") {
		r[4] = UserName(e.UID, o.On("n"))
	}
	if !o.On("o") && !o.On("G") {
		r[5] = UserName(e.GID, o.On("n"))
	}
	r[6] = sized(o, e.Size, 1)
	if kind := e.Mode & abi.S_IFMT; kind == abi.S_IFCHR || kind == abi.S_IFBLK {
		r[6] = fmt.Sprintf("%d, %d", e.Rdev>>8, e.Rdev&0xff)
	}
	r[7] = l.stamp(&e.Stat) + " " + l.label(e, dir)
	return r
}

func (l *lister) stamp(st *abi.Stat) string {
	t := l.time(st).Time().In(l.zone)
	style := l.o.Value("time-style", "")
	switch {
	case style == "full-iso" || l.o.On("full-time"):
		return t.Format("2006-01-02 15:04:05.000000000 -0700")
	case style == "long-iso":
		return t.Format("2006-01-02 15:04")
	case strings.HasPrefix(style, "+"):
		return clock.Format(style[1:], t)
	case t.After(l.now) || l.now.Sub(t) > 31556952*time.Second/2:
		if style == "iso" {
			return t.Format("2006-01-02 ")
		}
		return t.Format("Jan _2  2006")
	case style == "iso":
		return t.Format("01-02 15:04")
	}
	return t.Format("Jan _2 15:04")
}

// ModeString is a mode as "drwxr-xr-x".
func ModeString(mode uint32) string {
	kind := map[uint32]byte{abi.S_IFDIR: 'd', abi.S_IFLNK: 'l', abi.S_IFIFO: 'p', abi.S_IFCHR: 'c', abi.S_IFBLK: 'b', abi.S_IFSOCK: 's'}[mode&abi.S_IFMT]
	kind = cmp.Or(kind, '-')
	b := []byte("?rwxrwxrwx")
	b[0] = kind
	for i := range 9 {
		if mode&(0o400>>i) == 0 {
			b[i+1] = '-'
		}
	}
	for i, bit := range []uint32{abi.S_ISUID, abi.S_ISGID, abi.S_ISVTX} {
		if mode&bit != 0 {
			ch := "sst"[i]
			if b[3*i+3] == '-' {
				ch -= 32
			}
			b[3*i+3] = ch
		}
	}
	return string(b)
}

// UserName is the name of a user or group: there is only root.
func UserName(id uint32, numeric bool) string {
	if id == 0 && !numeric {
		return "root"
	}
	return strconv.FormatUint(uint64(id), 10)
}

// indent goes from one column to another, by tabs where they save anything.
func indent(from, to int) string {
	var b strings.Builder
	for from < to {
		if to/8 > (from+1)/8 {
			b.WriteByte('\t')
			from += 8 - from%8
		} else {
			b.WriteByte(' ')
			from++
		}
	}
	return b.String()
}

// columns lays labels out in columns, down or across.
func columns(labels []string, width int, across bool) string {
	n := len(labels)
	for try := 1; ; try++ {
		rows, cols := try, (n+try-1)/try
		if across {
			cols = n - try + 1
			rows = (n + cols - 1) / cols
		}
		widths := make([]int, cols)
		at := func(row, col int) int {
			if across {
				return row*cols + col
			}
			return col*rows + row
		}
		total := 0
		for col := range cols {
			for row := range rows {
				if i := at(row, col); i < n {
					widths[col] = max(widths[col], len(labels[i])+2)
				}
			}
			total += widths[col]
		}
		if total-2 >= width && try < n {
			continue
		}
		var b strings.Builder
		for row := range rows {
			line, start := "", 0
			for col := range cols {
				i := at(row, col)
				if i >= n {
					break
				}
				if line += labels[i]; at(row, col+1) < n && col+1 < cols {
					line += indent(start+len(labels[i]), start+widths[col])
				}
				start += widths[col]
			}
			b.WriteString(line + "\n")
		}
		return b.String()
	}
}
