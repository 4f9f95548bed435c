package system

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
)

// psColumn is a column of ps. What the kernel does not count is 0.
type psColumn struct {
	names string
	head  string
	width int // negative: at the left
	value func(c *command.Call, p *kernel.Process) string
}

// always returns what a column shows of every process.
func always(s string) func(*command.Call, *kernel.Process) string {
	return func(*command.Call, *kernel.Process) string { return s }
}

var psColumns = []psColumn{
	{"user euser ruser uname", "USER", -8, always("root")},
	{"uid euid ruid", "UID", 5, always("0")},
	{"pid tid lwp spid", "PID", 7, func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.PID()) }},
	{"ppid", "PPID", 7, func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Parent()) }},
	{"pgid pgrp", "PGID", 7, func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Group()) }},
	{"sid sess session", "SID", 7, func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Session()) }},
	{"comm ucomm", "COMMAND", -15, psName},
	{"ucmd fname", "CMD", -15, psName},
	{"args command", "COMMAND", -27, psWords},
	{"cmd", "CMD", -27, psWords},
	{"pcpu %cpu", "%CPU", 4, func(_ *command.Call, p *kernel.Process) string {
		return percent(share(p.Usage().CPU, p.Age()))
	}},
	{"c cp", "C", 2, always("0")},
	{"pmem %mem", "%MEM", 4, func(c *command.Call, p *kernel.Process) string {
		s := c.FS.Statfs()
		return percent(100 * float64(p.Usage().Memory) / float64(max(1, s.Blocks*uint64(s.Bsize))))
	}},
	{"vsz vsize", "VSZ", 6, psMemory},
	{"rss rssize rsz", "RSS", 5, psMemory},
	{"shr", "SHR", 6, always("0")},
	{"tty tt", "TT", -8, always("?")},
	{"tname", "TTY", -8, always("?")},
	{"stat", "STAT", -4, always("S")},
	{"state s", "S", -1, always("S")},
	{"time cputime", "TIME", 8, func(_ *command.Call, p *kernel.Process) string {
		return time.Time{}.Add(p.Usage().CPU).Format(time.TimeOnly)
	}},
	{"bsdtime", "TIME", 6, func(_ *command.Call, p *kernel.Process) string {
		d := p.Usage().CPU
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}},
	{"cputimes", "TIME+", 9, func(_ *command.Call, p *kernel.Process) string {
		d := p.Usage().CPU
		return fmt.Sprintf("%d:%05.2f", d/time.Minute, (d % time.Minute).Seconds())
	}},
	{"etime", "ELAPSED", 11, always("00:00")},
	{"etimes", "ELAPSED", 7, always("0")},
	{"f flags", "F", 1, always("0")},
	{"ni nice", "NI", 3, always("0")},
	{"pri", "PRI", 3, always("19")},
	{"nlwp thcount", "NLWP", 4, always("1")},
	{"wchan", "WCHAN", -6, always("-")},
	{"start", "STARTED", 8, func(c *command.Call, _ *kernel.Process) string { return time.Now().In(c.Zone()).Format(time.TimeOnly) }},
	{"stime", "STIME", -5, psStart},
	{"bsdstart", "START", -5, psStart},
}

func psName(_ *command.Call, p *kernel.Process) string { return p.Name() }

// psMemory is the memory in KiB.
func psMemory(_ *command.Call, p *kernel.Process) string {
	return strconv.FormatInt(p.Usage().Memory>>10, 10)
}

func percent(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

func psWords(_ *command.Call, p *kernel.Process) string {
	_, args := p.Command()
	return strings.Join(args, " ")
}

// psStart is the time of the day: no program began long ago.
func psStart(c *command.Call, _ *kernel.Process) string {
	return time.Now().In(c.Zone()).Format("15:04")
}

// psFormats are the formats that options name.
var psFormats = map[string]string{
	"": "pid tname time ucmd", "f": "user=UID pid ppid c stime tname time cmd", "F": "user=UID pid ppid c vsz rss stime tname time cmd",
	"user-format": "user pid pcpu pmem vsz rss tname stat bsdstart bsdtime command",
	"l":           "f s uid pid ppid c pri ni vsz wchan tname time ucmd", "j": "pid pgid sid tname time ucmd",
}

// psArgs writes BSD's options, which have no dash, as Unix's.
func psArgs(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		a := strings.TrimPrefix(args[i], "-")
		switch {
		case a == "":
		case args[i][0] == '-' && (!strings.HasPrefix(a, "aux") || strings.HasPrefix(a, "-")):
			if out = append(out, args[i]); strings.IndexByte("opqCukUgsGt", a[len(a)-1]) >= 0 && a[0] != '-' && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
		case a[0] >= '0' && a[0] <= '9':
			out = append(out, "-p", a)
		default:
			for _, letter := range a {
				switch name, valued := map[rune]string{'o': "-o", 'p': "-p", 'k': "--sort", 'u': "--user-format", 'l': "-l", 'j': "-j", 'h': "--no-headers"}[letter], strings.ContainsRune("opk", letter); {
				case valued && i+1 < len(args):
					i++
					out = append(out, name, args[i])
				case name != "" && !valued:
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// Ps lists the processes of the program, all of them unless some are selected.
func Ps(c *command.Call) int {
	c.Args = psArgs(c.Args)
	o := c.Parse("A,e a d f F l j y user-format o,format= p,pid,q= ppid= C= u,user,U,User= g,group,G= s,sid= t,tty= w H,forest sort= no-headers,no-heading,no-header h L T m M x c cols,columns,width=")
	var format []psColumn
	for _, name := range []string{"F", "f", "l", "j", "user-format", ""} {
		if len(format) == 0 && (o.On(name) || name == "") {
			format, _ = psFormat(psFormats[name])
		}
	}
	if given := o.Values("o"); len(given) > 0 {
		format = nil
		for _, s := range given {
			columns, unknown := psFormat(s)
			if unknown != "" {
				c.Warnf("error: unknown user-defined format specifier %q\n", unknown)
				return 1
			}
			format = append(format, columns...)
		}
	}
	list := processes(c)
	for option, value := range map[string]func(*command.Call, *kernel.Process) string{
		"p": func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.PID()) }, "ppid": func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Parent()) },
		"g": func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Group()) }, "s": func(_ *command.Call, p *kernel.Process) string { return strconv.Itoa(p.Session()) },
		"C": psName, "u": always("root"),
	} {
		if values := o.Values(option); len(values) > 0 {
			wanted := psList(strings.Join(values, ","))
			list = slices.DeleteFunc(list, func(p *kernel.Process) bool {
				return !slices.Contains(wanted, value(c, p)) && !(option == "u" && slices.Contains(wanted, "0"))
			})
		}
	}
	psSort(c, list, o.Value("sort", ""))
	if slices.ContainsFunc(format, func(f psColumn) bool { return f.head != "" }) && !o.On("no-headers") {
		psLine(c, format, func(f psColumn) string { return f.head })
	}
	for _, p := range list {
		psLine(c, format, func(f psColumn) string {
			if f.names == "stat" && p == c.Process {
				return "R"
			}
			return f.value(c, p)
		})
	}
	return command.Btoi(len(list) == 0)
}

func psList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// psFormat reads a list of columns. One may have a head of its own, name=HEAD, which
// for the last goes to the end.
func psFormat(s string) (format []psColumn, unknown string) {
	for s = strings.TrimLeft(s, ", "); s != ""; s = strings.TrimLeft(s, ", ") {
		end := strings.IndexAny(s, ", ")
		if end < 0 {
			end = len(s)
		}
		name, head, given := strings.Cut(s[:end], "=")
		s = s[end:]
		at := slices.IndexFunc(psColumns, func(f psColumn) bool { return slices.Contains(strings.Fields(f.names), strings.ToLower(name)) })
		if at < 0 {
			return nil, name
		}
		f := psColumns[at]
		if given {
			if f.head = head; f.width > 0 {
				f.width = max(f.width, len(head))
			} else {
				f.width = min(f.width, -len(head))
			}
		}
		format = append(format, f)
	}
	return format, ""
}

// psSort sorts by the first column that a key such as -pid,+comm names.
func psSort(c *command.Call, list []*kernel.Process, key string) {
	key, _, _ = strings.Cut(key, ",")
	format, _ := psFormat(strings.TrimLeft(key, "+-"))
	if len(format) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *kernel.Process) int {
		x, y := format[0].value(c, a), format[0].value(c, b)
		n, isNumber := command.Atoi(x)
		m, _ := command.Atoi(y)
		order := cmp.Compare(x, y)
		if isNumber {
			order = cmp.Compare(n, m)
		}
		if key[0] == '-' {
			return -order
		}
		return order
	})
}

func psLine(c *command.Call, format []psColumn, text func(psColumn) string) {
	for i, f := range format {
		if i > 0 {
			c.Print(" ")
		}
		if f.width < 0 && i == len(format)-1 {
			f.width = 0
		}
		c.Printf("%*s", f.width, text(f))
	}
	c.Print("\n")
}
