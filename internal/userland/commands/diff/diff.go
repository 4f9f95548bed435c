// Package diff has the commands that compare files, and patch.
package diff

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/regex"
)

const diffOptions = "# u U,unified=? c C,context=? n,rcs e,ed y,side-by-side q,brief s,report-identical-files r,recursive N,new-file a,text i,ignore-case w,ignore-all-space b,ignore-space-change B,ignore-blank-lines I,ignore-matching-lines= E,ignore-tab-expansion Z,ignore-trailing-space strip-trailing-cr L,label= !t,expand-tabs x,exclude= !X,exclude-from= normal color=? d,minimal speed-large-files p,show-c-function W,width= suppress-common-lines !no-dereference !P,unidirectional-new-file !l,paginate !T,initial-tab !F,show-function-line="

// differ is a running diff.
type differ struct {
	c       *command.Call
	o       *command.Options
	context int  // lines; -1: not unified or context
	style   byte // 'u', 'c', 'n' for normal, 'e' and 'y'
	status  int
}

// Sdiff prints files side by side, as diff -y does.
func Sdiff(c *command.Call) int {
	o := c.Parse("w,width= s,suppress-common-lines a,text i,ignore-case W,ignore-all-space b,ignore-space-change B,ignore-blank-lines E,ignore-tab-expansion strip-trailing-cr d,minimal !o,output= !l,left-column !t,expand-tabs", 2, 2)
	set := []command.Option{{Name: "y"}, {Name: "W", Value: o.Value("w", "130")}}
	for _, s := range o.Set {
		if name := cmp.Or(map[string]string{"s": "suppress-common-lines", "W": "w"}[s.Name], s.Name); s.Name != "w" {
			set = append(set, command.Option{Name: name})
		}
	}
	o.Set = set
	return compare(c, o)
}

// Diff compares files line by line.
func Diff(c *command.Call) int {
	// -U takes a number, -u none: "-U 3" and "-U3".
	return compare(c, c.Parse(strings.NewReplacer("U,unified=?", "U= unified=?", "C,context=?", "C= context=?").Replace(diffOptions+formats)))
}

func compare(c *command.Call, o *command.Options) int {
	d := &differ{c: c, o: o, context: -1, style: 'n'}
	for _, s := range o.Set {
		switch s.Name {
		case "u", "U", "unified":
			d.style = 'u'
		case "c", "C", "context":
			d.style = 'c'
		case "e", "y", "n":
			d.style = s.Name[0]
			if s.Name == "n" {
				return c.Die(2, "option '-n' is not available in this sandbox")
			}
		}
		if n, ok := command.Atoi(s.Value); ok && (s.Name == "U" || s.Name == "C" || s.Name == "unified" || s.Name == "context" || s.Name == "#") {
			d.context = max(d.context, n)
		} else if s.Name == "U" || s.Name == "C" {
			return c.Usage(2, "invalid context length '%s'", s.Value)
		}
	}
	if d.context < 0 {
		d.context = 3
	}
	if len(o.Args) < 2 {
		if len(o.Args) == 0 {
			return c.Usage(2, "missing operand after '%s'", "diff")
		}
		return c.Usage(2, "missing operand after '%s'", o.Args[0])
	}
	if len(o.Args) > 2 {
		return c.Usage(2, "extra operand '%s'", o.Args[2])
	}
	a, b := o.Args[0], o.Args[1]
	if a == "-" && b == "-" {
		return 0
	}
	aDir, bDir := a != "-" && c.IsDir(a), b != "-" && c.IsDir(b)
	switch {
	case aDir && bDir:
		d.dirs(a, b, 0)
		return d.status
	case aDir:
		a = command.Join(strings.TrimSuffix(a, "/"), command.Base(b))
	case bDir:
		b = command.Join(strings.TrimSuffix(b, "/"), command.Base(a))
	}
	d.files(a, b, false)
	return d.status
}

func (d *differ) trouble(name string, err error) {
	if !errors.Is(err, command.ErrStopped) {
		d.c.Errorf("%s: %s", name, command.Text(err))
	}
	d.status = 2
}

func (d *differ) dirs(a, b string, depth int) {
	list := func(name string) map[string]command.Entry {
		m := map[string]command.Entry{}
		l, err := d.c.ReadDir(name)
		if err != nil && !(d.o.On("N") && errors.Is(err, abi.ENOENT)) {
			d.trouble(name, err)
		}
		for _, e := range l {
			if !slices.ContainsFunc(d.o.Values("x"), func(p string) bool { return glob.Match(p, e.Name) }) {
				m[e.Name] = e
			}
		}
		return m
	}
	left, right := list(a), list(b)
	all := maps.Clone(left)
	maps.Copy(all, right)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if d.c.Stopped() {
			return
		}
		x, inA := left[n]
		y, inB := right[n]
		p, q := command.Join(a, n), command.Join(b, n)
		if x.Mode&abi.S_IFMT == abi.S_IFLNK {
			x.Stat, _ = d.c.Stat(p)
		}
		if y.Mode&abi.S_IFMT == abi.S_IFLNK {
			y.Stat, _ = d.c.Stat(q)
		}
		switch {
		case (!inA || !inB) && !d.o.On("N"):
			where := a
			if inB {
				where = b
			}
			d.c.Printf("Only in %s: %s\n", where, n)
			d.status = max(d.status, 1)
		case (x.IsDir() || !inA) && (y.IsDir() || !inB):
			if d.o.On("r") && depth < command.MaxDepth {
				d.dirs(p, q, depth+1)
			} else {
				d.c.Printf("Common subdirectories: %s and %s\n", p, q)
			}
		case x.IsDir() != y.IsDir() && inA && inB:
			d.c.Printf("File %s is a %s while file %s is a %s\n", p, file.KindOf(&x.Stat), q, file.KindOf(&y.Stat))
			d.status = max(d.status, 1)
		default:
			d.files(p, q, true)
		}
	}
}

// read reads one side; with -N a file that is not there is empty.
func (d *differ) read(name string) ([]byte, abi.Timespec, bool) {
	if name == "-" {
		data, err := d.c.ReadAll(d.c.In())
		if err != nil {
			d.trouble(name, err)
		}
		return data, abi.Timespec{}, err == nil
	}
	data, err := d.c.ReadFile(name)
	if err != nil && d.o.On("N") && errors.Is(err, abi.ENOENT) {
		return nil, abi.Timespec{}, true
	}
	if err != nil {
		d.trouble(name, err)
		return nil, abi.Timespec{}, false
	}
	st, _ := d.c.Stat(name)
	return data, st.Mtime, true
}

// side is one of two compared files.
type side struct {
	lines [][]byte // without newlines
	bare  bool     // the last line has no newline
}

func split(data []byte) (s side) {
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		s.lines, s.bare, data = append(s.lines, line), !whole, rest
	}
	return s
}

func (d *differ) files(a, b string, titled bool) {
	c := d.c
	x, xt, ok1 := d.read(a)
	y, yt, ok2 := d.read(b)
	if !ok1 || !ok2 {
		return
	}
	whole := !d.o.On("q") && (d.style == 'y' && !d.o.On("suppress-common-lines") || d.formatted()) // equal lines are printed, too
	if bytes.Equal(x, y) && !whole {
		if d.o.On("s") {
			c.Printf("Files %s and %s are identical\n", a, b)
		}
		return
	}
	if !d.o.On("a") && (bytes.IndexByte(x[:min(len(x), 8192)], 0) >= 0 || bytes.IndexByte(y[:min(len(y), 8192)], 0) >= 0) {
		if d.o.On("q") {
			c.Printf("Files %s and %s differ\n", a, b)
		} else {
			c.Printf("Binary files %s and %s differ\n", a, b)
		}
		d.status = max(d.status, 1)
		return
	}
	left, right := split(x), split(y)
	if c.Reserve(int64(len(left.lines)+len(right.lines))*96) != nil {
		d.trouble(a, command.ErrMemory)
		return
	}
	hunks := d.hunks(&left, &right)
	if len(hunks) == 0 && !whole {
		return
	}
	d.status = max(d.status, command.Btoi(len(hunks) > 0))
	if d.o.On("q") {
		c.Printf("Files %s and %s differ\n", a, b)
		return
	}
	if titled {
		c.Printf("diff%s %s %s\n", d.flags(), command.Quotef(a), command.Quotef(b))
	}
	d.print(&left, &right, hunks, d.label(0, a, xt), d.label(1, b, yt))
}

// label is what stands for a file before its hunks.
func (d *differ) label(i int, name string, t abi.Timespec) string {
	if l := d.o.Values("L"); i < len(l) {
		return l[i]
	}
	return name + "\t" + t.Time().In(d.c.Zone()).Format("2006-01-02 15:04:05.000000000 -0700")
}

// print prints hunks in the style that was asked for.
func (d *differ) print(a, b *side, hunks []hunk, from, to string) {
	p := &diffPrinter{c: d.c, a: a, b: b, context: d.context, functions: d.o.On("p"), color: d.o.Value("color", "never") == "always"}
	if d.formatted() {
		d.format(p, hunks)
		return
	}
	switch d.style {
	case 'u':
		p.title("--- "+from, "+++ "+to)
		p.unified(hunks)
	case 'c':
		p.title("*** "+from, "--- "+to)
		p.contextual(hunks)
	case 'e':
		p.ed(hunks)
	case 'y':
		width := 130
		if n, ok := command.Atoi(d.o.Value("W", "")); ok {
			width = n
		}
		p.sideBySide(hunks, width, d.o.On("suppress-common-lines"))
	default:
		p.normal(hunks)
	}
}

// flags are the options that "diff -r a/x b/x" lines repeat.
func (d *differ) flags() string {
	out := ""
	for _, a := range d.c.Args {
		if len(a) > 1 && a[0] == '-' {
			out += " " + a
		}
	}
	return out
}

// hunk is a change: lines a[alo:ahi] become b[blo:bhi].
type hunk struct{ alo, ahi, blo, bhi int }

func (d *differ) hunks(a, b *side) (list []hunk) {
	classes := map[string]int{}
	classify := func(s *side) []int {
		out := make([]int, len(s.lines))
		for i, l := range s.lines {
			key := d.key(l)
			if s.bare && i == len(s.lines)-1 && !d.o.On("b") && !d.o.On("w") && !d.o.On("Z") {
				key += "\n" // differs from the same line with a newline
			}
			n, ok := classes[key]
			if !ok {
				n = len(classes)
				classes[key] = n
			}
			out[i] = n
		}
		return out
	}
	deleted, added := differences(classify(a), classify(b), d.c.Stopped)
	for i, j := 0, 0; i < len(deleted) || j < len(added); {
		if (i >= len(deleted) || !deleted[i]) && (j >= len(added) || !added[j]) {
			i, j = i+1, j+1
			continue
		}
		h := hunk{alo: i, blo: j}
		for i < len(deleted) && deleted[i] {
			i++
		}
		for j < len(added) && added[j] {
			j++
		}
		h.ahi, h.bhi = i, j
		if !d.ignored(a, b, h) {
			list = append(list, h)
		}
	}
	return list
}

// key is what of a line is compared.
func (d *differ) key(line []byte) string {
	o := d.o
	if o.On("strip-trailing-cr") {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	switch {
	case o.On("w"):
		line = bytes.Join(bytes.Fields(line), nil)
	case o.On("b"):
		joined := bytes.Join(bytes.Fields(line), []byte(" "))
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			joined = append([]byte(" "), joined...)
		}
		line = joined
	case o.On("Z"):
		line = bytes.TrimRight(line, " \t\r\v\f")
	case o.On("E"):
		line = []byte(command.ExpandTabs(string(line), []int{8}))
	}
	if o.On("i") {
		line = bytes.ToLower(line)
	}
	return string(line)
}

// ignored reports whether -B and -I make a change not count.
func (d *differ) ignored(a, b *side, h hunk) bool {
	lines := slices.Concat(a.lines[h.alo:h.ahi], b.lines[h.blo:h.bhi])
	if d.o.On("B") && !slices.ContainsFunc(lines, func(l []byte) bool { return len(l) > 0 }) {
		return true
	}
	for _, expr := range d.o.Values("I") {
		re, err := regex.CompileBasic(expr, false, regex.Limits{Ctx: d.c.Ctx})
		if err == nil && !slices.ContainsFunc(lines, func(l []byte) bool { return !re.Match(l) }) {
			return true
		}
	}
	return false
}
