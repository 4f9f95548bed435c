package commands

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coderunner/pyodide/abi"
)

const diffOptions = "# u U,unified=? c C,context=? n,rcs e,ed y,side-by-side q,brief s,report-identical-files r,recursive N,new-file a,text i,ignore-case w,ignore-all-space b,ignore-space-change B,ignore-blank-lines I,ignore-matching-lines= E,ignore-tab-expansion Z,ignore-trailing-space strip-trailing-cr L,label= !t,expand-tabs x,exclude= !X,exclude-from= normal color=? d,minimal speed-large-files p,show-c-function W,width= suppress-common-lines !no-dereference !P,unidirectional-new-file !l,paginate !T,initial-tab !F,show-function-line="

// differ is a running diff.
type differ struct {
	c       *call
	o       *options
	context int  // lines; -1: not unified or context
	style   byte // 'u', 'c', 'n' for normal, 'e' and 'y'
	status  int
}

func diff(c *call) int {
	// -U takes a number, -u none: "-U 3" and "-U3".
	o, status := c.options(strings.NewReplacer("U,unified=?", "U= unified=?", "C,context=?", "C= context=?").Replace(diffOptions))
	if o == nil {
		return status
	}
	d := &differ{c: c, o: o, context: -1, style: 'n'}
	for _, s := range o.set {
		switch s.name {
		case "u", "U", "unified":
			d.style = 'u'
		case "c", "C", "context":
			d.style = 'c'
		case "e", "y", "n":
			d.style = s.name[0]
			if s.name == "n" {
				return c.die(2, "option '-n' is not available in this sandbox")
			}
		}
		if n, ok := atoi(s.value); ok && (s.name == "U" || s.name == "C" || s.name == "unified" || s.name == "context" || s.name == "#") {
			d.context = max(d.context, n)
		} else if s.name == "U" || s.name == "C" {
			return c.usage(2, "invalid context length '%s'", s.value)
		}
	}
	if d.context < 0 {
		d.context = 3
	}
	if len(o.args) < 2 {
		if len(o.args) == 0 {
			return c.usage(2, "missing operand after '%s'", "diff")
		}
		return c.usage(2, "missing operand after '%s'", o.args[0])
	}
	if len(o.args) > 2 {
		return c.usage(2, "extra operand '%s'", o.args[2])
	}
	a, b := o.args[0], o.args[1]
	aDir, bDir := a != "-" && c.isDir(a), b != "-" && c.isDir(b)
	switch {
	case aDir && bDir:
		d.dirs(a, b, 0)
		return d.status
	case aDir:
		a = join(strings.TrimSuffix(a, "/"), base(b))
	case bDir:
		b = join(strings.TrimSuffix(b, "/"), base(a))
	}
	d.files(a, b, false)
	return d.status
}

func (d *differ) trouble(name string, err error) {
	if !errors.Is(err, errStopped) {
		d.c.errorf("%s: %s", name, text(err))
	}
	d.status = 2
}

func (d *differ) dirs(a, b string, depth int) {
	list := func(name string) map[string]entry {
		m := map[string]entry{}
		l, err := d.c.readDir(name)
		if err != nil && !(d.o.on("N") && errors.Is(err, abi.ENOENT)) {
			d.trouble(name, err)
		}
		for _, e := range l {
			if !slices.ContainsFunc(d.o.values("x"), func(p string) bool { return fnmatch(p, e.name) }) {
				m[e.name] = e
			}
		}
		return m
	}
	left, right := list(a), list(b)
	var names []string
	for n := range left {
		names = append(names, n)
	}
	for n := range right {
		if _, both := left[n]; !both {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		if d.c.stopped() {
			return
		}
		x, inA := left[n]
		y, inB := right[n]
		p, q := join(a, n), join(b, n)
		if x.Mode&abi.S_IFMT == abi.S_IFLNK {
			x.Stat, _ = d.c.stat(p)
		}
		if y.Mode&abi.S_IFMT == abi.S_IFLNK {
			y.Stat, _ = d.c.stat(q)
		}
		switch {
		case (!inA || !inB) && !d.o.on("N"):
			where := a
			if inB {
				where = b
			}
			d.c.printf("Only in %s: %s\n", where, n)
			d.status = max(d.status, 1)
		case (x.IsDir() || !inA) && (y.IsDir() || !inB):
			if d.o.on("r") && depth < maxDepth {
				d.dirs(p, q, depth+1)
			} else {
				d.c.printf("Common subdirectories: %s and %s\n", p, q)
			}
		case x.IsDir() != y.IsDir() && inA && inB:
			d.c.printf("File %s is a %s while file %s is a %s\n", p, kindOf(&x.Stat), q, kindOf(&y.Stat))
			d.status = max(d.status, 1)
		default:
			d.files(p, q, true)
		}
	}
}

// read reads one side; with -N a file that is not there is empty.
func (d *differ) read(name string) ([]byte, abi.Timespec, bool) {
	if name == "-" {
		data, err := d.c.readAll(d.c.in())
		if err != nil {
			d.trouble(name, err)
		}
		return data, abi.Timespec{}, err == nil
	}
	data, err := d.c.readFile(name)
	if err != nil && d.o.on("N") && errors.Is(err, abi.ENOENT) {
		return nil, abi.Timespec{}, true
	}
	if err != nil {
		d.trouble(name, err)
		return nil, abi.Timespec{}, false
	}
	st, _ := d.c.stat(name)
	return data, st.Mtime, true
}

// side is one of two compared files.
type side struct {
	name  string
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
	if bytes.Equal(x, y) {
		if d.o.on("s") {
			c.printf("Files %s and %s are identical\n", a, b)
		}
		return
	}
	if !d.o.on("a") && (bytes.IndexByte(x[:min(len(x), 8192)], 0) >= 0 || bytes.IndexByte(y[:min(len(y), 8192)], 0) >= 0) {
		if d.o.on("q") {
			c.printf("Files %s and %s differ\n", a, b)
		} else {
			c.printf("Binary files %s and %s differ\n", a, b)
		}
		d.status = max(d.status, 1)
		return
	}
	left, right := split(x), split(y)
	if c.reserve(int64(len(left.lines)+len(right.lines))*96) != nil {
		d.trouble(a, errMemory)
		return
	}
	hunks := d.hunks(&left, &right)
	if len(hunks) == 0 {
		return
	}
	d.status = max(d.status, 1)
	if d.o.on("q") {
		c.printf("Files %s and %s differ\n", a, b)
		return
	}
	if titled {
		c.printf("diff%s %s %s\n", d.flags(), quotef(a), quotef(b))
	}
	label := func(i int, name string, t abi.Timespec) string {
		if l := d.o.values("L"); i < len(l) {
			return l[i]
		}
		return name + "\t" + t.Time().In(c.zone()).Format("2006-01-02 15:04:05.000000000 -0700")
	}
	p := &diffPrinter{c: c, a: &left, b: &right, context: d.context, functions: d.o.on("p"), color: d.o.value("color", "never") == "always"}
	switch d.style {
	case 'u':
		p.title("--- "+label(0, a, xt), "+++ "+label(1, b, yt))
		p.unified(hunks)
	case 'c':
		p.title("*** "+label(0, a, xt), "--- "+label(1, b, yt))
		p.contextual(hunks)
	case 'e':
		p.ed(hunks)
	case 'y':
		width := 130
		if n, ok := atoi(d.o.value("W", "")); ok {
			width = n
		}
		p.sideBySide(hunks, width, d.o.on("suppress-common-lines"))
	default:
		p.normal(hunks)
	}
}

// flags are the options that "diff -r a/x b/x" lines repeat.
func (d *differ) flags() string {
	out := ""
	for _, a := range d.c.args {
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
			if s.bare && i == len(s.lines)-1 && !d.o.on("b") && !d.o.on("w") && !d.o.on("Z") {
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
	deleted, added := differences(classify(a), classify(b), d.c.stopped)
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
	if o.on("strip-trailing-cr") {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	switch {
	case o.on("w"):
		line = bytes.Join(bytes.Fields(line), nil)
	case o.on("b"):
		joined := bytes.Join(bytes.Fields(line), []byte(" "))
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			joined = append([]byte(" "), joined...)
		}
		line = joined
	case o.on("Z"):
		line = bytes.TrimRight(line, " \t\r\v\f")
	case o.on("E"):
		line = []byte(expandTabs(string(line), []int{8}))
	}
	if o.on("i") {
		line = bytes.ToLower(line)
	}
	return string(line)
}

// ignored reports whether -B and -I make a change not count.
func (d *differ) ignored(a, b *side, h hunk) bool {
	lines := slices.Concat(a.lines[h.alo:h.ahi], b.lines[h.blo:h.bhi])
	if d.o.on("B") && !slices.ContainsFunc(lines, func(l []byte) bool { return len(l) > 0 }) {
		return true
	}
	for _, expr := range d.o.values("I") {
		re, err := compileBasic(expr, false)
		if err == nil && !slices.ContainsFunc(lines, func(l []byte) bool { return !re.Match(l) }) {
			return true
		}
	}
	return false
}

// diffPrinter prints hunks.
type diffPrinter struct {
	c       *call
	a, b    *side
	context int
	color   bool

	functions bool // -p: hunks show the function that they are in
}

// function returns what -p shows of a hunk that begins at a line.
func (p *diffPrinter) function(at int) string {
	for at--; at >= 0 && p.functions; at-- {
		if l := bytes.TrimRight(p.a.lines[at], " \t\r\n"); len(l) > 0 && (l[0] == '$' || l[0] > '9' && wordByte(l[0])) {
			return " " + string(l[:min(len(l), 40)])
		}
	}
	return ""
}

func (p *diffPrinter) title(a, b string) {
	if p.color {
		a, b = "\x1b[1m"+a+"\x1b[0m", "\x1b[1m"+b+"\x1b[0m"
	}
	p.c.print(a + "\n" + b + "\n")
}

// line prints a line with its mark.
func (p *diffPrinter) line(mark string, s *side, i int) {
	color := ""
	if p.color {
		color = map[byte]string{'-': "31", '<': "31", '+': "32", '>': "32"}[mark[0]]
	}
	if color != "" {
		p.c.printf("\x1b[%sm%s%s\x1b[0m\n", color, mark, s.lines[i])
	} else {
		p.c.print(mark)
		p.c.out.Write(s.lines[i])
		p.c.print("\n")
	}
	if s.bare && i == len(s.lines)-1 {
		p.c.print("\\ No newline at end of file\n")
	}
}

func diffRange(lo, hi int) string {
	if hi-lo <= 1 {
		return fmt.Sprint(hi)
	}
	return fmt.Sprintf("%d,%d", lo+1, hi)
}

func (p *diffPrinter) normal(hunks []hunk) {
	for _, h := range hunks {
		op := "c"
		if h.alo == h.ahi {
			op = "a"
		} else if h.blo == h.bhi {
			op = "d"
		}
		p.c.printf("%s%s%s\n", diffRange(h.alo, h.ahi), op, diffRange(h.blo, h.bhi))
		for i := h.alo; i < h.ahi; i++ {
			p.line("< ", p.a, i)
		}
		if op == "c" {
			p.c.print("---\n")
		}
		for i := h.blo; i < h.bhi; i++ {
			p.line("> ", p.b, i)
		}
	}
}

func (p *diffPrinter) ed(hunks []hunk) {
	for _, h := range slices.Backward(hunks) {
		op := "c"
		if h.alo == h.ahi {
			op = "a"
		} else if h.blo == h.bhi {
			op = "d"
		}
		p.c.printf("%s%s\n", diffRange(h.alo, h.ahi), op)
		for i := h.blo; i < h.bhi; i++ {
			p.c.printf("%s\n", p.b.lines[i])
		}
		if op != "d" {
			p.c.print(".\n")
		}
	}
}

// groups joins the hunks whose contexts touch.
func (p *diffPrinter) groups(hunks []hunk) (list [][]hunk) {
	for i, h := range hunks {
		if i > 0 && h.alo-hunks[i-1].ahi <= 2*p.context {
			list[len(list)-1] = append(list[len(list)-1], h)
		} else {
			list = append(list, []hunk{h})
		}
	}
	return list
}

func (p *diffPrinter) unified(hunks []hunk) {
	position := func(lo, hi int) string {
		switch hi - lo {
		case 0:
			return fmt.Sprintf("%d,0", lo)
		case 1:
			return fmt.Sprint(hi)
		}
		return fmt.Sprintf("%d,%d", lo+1, hi-lo)
	}
	for _, g := range p.groups(hunks) {
		first, last := g[0], g[len(g)-1]
		before, after := min(p.context, first.alo), min(p.context, len(p.a.lines)-last.ahi)
		head := fmt.Sprintf("@@ -%s +%s @@", position(first.alo-before, last.ahi+after), position(first.blo-before, last.bhi+after))
		if p.color {
			head = "\x1b[36m" + head + "\x1b[0m"
		}
		p.c.print(head + p.function(first.alo-before) + "\n")
		at := first.alo - before
		for _, h := range g {
			for ; at < h.alo; at++ {
				p.line(" ", p.a, at)
			}
			for ; at < h.ahi; at++ {
				p.line("-", p.a, at)
			}
			for i := h.blo; i < h.bhi; i++ {
				p.line("+", p.b, i)
			}
		}
		for ; at < last.ahi+after; at++ {
			p.line(" ", p.a, at)
		}
	}
}

func (p *diffPrinter) contextual(hunks []hunk) {
	for _, g := range p.groups(hunks) {
		first, last := g[0], g[len(g)-1]
		before, after := min(p.context, first.alo), min(p.context, len(p.a.lines)-last.ahi)
		p.c.printf("***************%s\n*** %s ****\n", p.function(first.alo-before), diffRange(first.alo-before, last.ahi+after))
		p.half(g, p.a, first.alo-before, last.ahi+after, "- ", func(h hunk) (int, int, bool) { return h.alo, h.ahi, h.blo < h.bhi })
		p.c.printf("--- %s ----\n", diffRange(first.blo-before, last.bhi+after))
		p.half(g, p.b, first.blo-before, last.bhi+after, "+ ", func(h hunk) (int, int, bool) { return h.blo, h.bhi, h.alo < h.ahi })
	}
}

func (p *diffPrinter) half(g []hunk, s *side, at, end int, mark string, of func(hunk) (lo, hi int, both bool)) {
	if !slices.ContainsFunc(g, func(h hunk) bool { lo, hi, _ := of(h); return hi > lo }) {
		return
	}
	for _, h := range g {
		lo, hi, both := of(h)
		for ; at < lo; at++ {
			p.line("  ", s, at)
		}
		for ; at < hi; at++ {
			if both {
				p.line("! ", s, at)
			} else {
				p.line(mark, s, at)
			}
		}
	}
	for ; at < end; at++ {
		p.line("  ", s, at)
	}
}

func (p *diffPrinter) sideBySide(hunks []hunk, width int, suppress bool) {
	half := max(1, (width-3)/2)
	row := func(a []byte, mark string, b []byte) {
		x, y := expandTabs(string(a), []int{8}), expandTabs(string(b), []int{8})
		x, y = x[:min(len(x), half)], y[:min(len(y), half)]
		line := fmt.Sprintf("%-*s %s %s", half, x, mark, y)
		p.c.print(strings.TrimRight(line, " ") + "\n")
	}
	at := 0
	for _, h := range append(hunks, hunk{len(p.a.lines), len(p.a.lines), 0, 0}) {
		for ; at < h.alo; at++ {
			if !suppress {
				row(p.a.lines[at], " ", p.a.lines[at])
			}
		}
		for i := 0; h.alo+i < h.ahi || h.blo+i < h.bhi; i++ {
			switch {
			case h.alo+i >= h.ahi:
				row(nil, ">", p.b.lines[h.blo+i])
			case h.blo+i >= h.bhi:
				row(p.a.lines[h.alo+i], "<", nil)
			default:
				row(p.a.lines[h.alo+i], "|", p.b.lines[h.blo+i])
			}
		}
		at = h.ahi
	}
}

func compareFiles(c *call) int {
	o, status := c.options("b,print-bytes i,ignore-initial= l,verbose n,bytes= s,quiet,silent")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.usage(2, "missing operand after 'cmp'")
	}
	a, b := o.args[0], "-"
	if len(o.args) > 1 {
		b = o.args[1]
	}
	limit, ok := int64(1<<62), true
	if n := o.value("n", ""); n != "" {
		if limit, ok = size(n); !ok {
			return c.usage(2, "invalid --bytes value '%s'", n)
		}
	}
	var in [2]*lines
	for i, name := range []string{a, b} {
		r, err := c.open(name)
		if err != nil {
			return c.die(2, "%s: %s", name, text(err))
		}
		defer r.Close()
		in[i] = c.lines(r, '\n')
		skips := strings.Split(o.value("i", "0"), ":")
		if n, ok := size(skips[min(i, len(skips)-1)]); ok {
			in[i].r.Discard(int(min(n, 1<<40)))
		}
	}
	width := 1
	for _, name := range []string{a, b} {
		if st, err := c.stat(name); err == nil {
			width = max(width, len(fmt.Sprint(st.Size)))
		}
	}
	line, last := 1, byte(0)
	for at := int64(1); at <= limit; at++ {
		x, err1 := in[0].r.ReadByte()
		y, err2 := in[1].r.ReadByte()
		switch {
		case err1 != nil && err2 != nil:
			return c.status
		case err1 != nil || err2 != nil:
			short := a
			if err2 != nil {
				short = b
			}
			if !o.on("s") {
				where := fmt.Sprintf("byte %d, in line %d", at-1, line)
				switch {
				case at == 1:
					c.errorf("EOF on %s which is empty", short)
					return 1
				case o.on("l"):
					where = fmt.Sprintf("byte %d", at-1)
				case last == '\n':
					where = fmt.Sprintf("byte %d, line %d", at-1, line-1)
				}
				c.errorf("EOF on %s after %s", short, where)
			}
			return 1
		case x != y && o.on("l"):
			c.printf("%*d %3o %3o\n", width, at, x, y)
			c.status = 1
		case x != y:
			if o.on("b") {
				c.printf("%s %s differ: byte %d, line %d is %3o %s %3o %s\n", a, b, at, line, x, visible(x), y, visible(y))
			} else if !o.on("s") {
				c.printf("%s %s differ: byte %d, line %d\n", a, b, at, line)
			}
			return 1
		}
		if last = x; x == '\n' {
			line++
		}
	}
	return c.status
}
