package commands

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"coderunner/pyodide/abi"
)

const grepOptions = "E,extended-regexp F,fixed-strings G,basic-regexp P,perl-regexp e,regexp= f,file= i,y,ignore-case no-ignore-case w,word-regexp x,line-regexp z,null-data s,no-messages v,invert-match m,max-count= b,byte-offset n,line-number line-buffered H,with-filename h,no-filename label= o,only-matching q,quiet,silent binary-files= a,text I d,directories= !D,devices= r,recursive R,dereference-recursive include= exclude= !exclude-from= exclude-dir= L,files-without-match l,files-with-matches c,count T,initial-tab Z,null A,after-context= B,before-context= C,context= # group-separator= no-group-separator color=? colour=? U,binary"

// grepper is a running grep.
type grepper struct {
	c             *call
	o             *options
	patterns      []pattern
	words, whole  bool
	invert, only  bool
	names         bool // before lines
	before, after int
	most          int
	end           byte
	found         bool // something was selected
	trouble       bool
	color         bool
}

func grep(c *call) int {
	o, status := c.options(grepOptions)
	if o == nil {
		return status
	}
	g := &grepper{c: c, o: o, words: o.on("w"), whole: o.on("x"), invert: o.on("v"), only: o.on("o"), most: 1<<63 - 1}
	g.end = lineEnd(o.on("z"))
	g.color = o.value("color", o.value("colour", "never")) == "always"
	if status := g.compile(); status != 0 {
		return status
	}
	if status := g.numbers(); status != 0 {
		return status
	}
	recursive := o.on("r") || o.on("R") || o.value("d", "") == "recurse"
	names := o.args
	if len(names) == 0 {
		names = []string{"-"}
		if recursive {
			names = []string{"."}
		}
	}
	switch o.last("H", "h") {
	case "H":
		g.names = true
	case "":
		g.names = len(names) > 1 || recursive && (len(names) > 1 || c.isDir(names[0]))
	}
	for _, name := range names {
		if c.stopped() || g.found && o.on("q") {
			break
		}
		switch {
		case name != "-" && c.isDir(name):
			if recursive {
				g.walk(name, len(o.args) == 0)
			} else if o.value("d", "") != "skip" {
				g.complain(name, abi.EISDIR)
			}
		default:
			if name == "-" || g.included(name) {
				g.file(name)
			}
		}
	}
	switch {
	case g.trouble && !(g.found && o.on("q")):
		return 2
	case g.found:
		return 0
	}
	return 1
}

// compile reads the patterns.
func (g *grepper) compile() int {
	o, c := g.o, g.c
	var sources []string
	for _, s := range o.set {
		switch s.name {
		case "e":
			sources = append(sources, strings.Split(s.value, "\n")...)
		case "f":
			data, err := c.readFile(s.value)
			if err != nil {
				return c.die(2, "%s: %s", s.value, text(err))
			}
			if len(data) > 0 {
				sources = append(sources, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
			}
		}
	}
	if !o.on("e") && !o.on("f") {
		if len(o.args) == 0 {
			c.warnf("Usage: %s [OPTION]... PATTERNS [FILE]...\nTry '%s --help' for more information.\n", c.name, c.name)
			return 2
		}
		sources = strings.Split(o.args[0], "\n")
		o.args = o.args[1:]
	}
	kind := o.last("E", "F", "G", "P")
	switch {
	case kind == "" && c.name == "egrep":
		kind = "E"
	case kind == "" && c.name == "fgrep":
		kind = "F"
	}
	fold := o.last("i", "no-ignore-case") == "i"
	if kind == "P" && len(sources) > 1 {
		return c.die(2, "the -P option only supports a single pattern")
	}
	for _, s := range sources {
		p, err := g.one(kind, s, fold)
		if err != nil {
			return c.die(2, "%s", err)
		}
		g.patterns = append(g.patterns, p)
	}
	return 0
}

func (g *grepper) one(kind, s string, fold bool) (pattern, error) {
	switch kind {
	case "F":
		if !fold && s != "" {
			return fixed(s), nil
		}
		var b strings.Builder
		for i := range len(s) {
			if strings.IndexByte(`\.[]*^$`, s[i]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		}
		return dialect{fold: fold, whole: g.whole}.compile(b.String())
	case "P":
		if g.whole {
			s = "^(?:" + s + ")$"
		}
		return compilePerl(s, fold)
	case "E":
		return dialect{fold: fold, extended: true, whole: g.whole}.compile(s)
	}
	return dialect{fold: fold, whole: g.whole}.compile(s)
}

func (g *grepper) numbers() int {
	for _, s := range g.o.set {
		n, ok := atoi(s.value)
		switch s.name {
		case "A", "B", "C", "#":
			if !ok || n < 0 {
				return g.c.die(2, "%s: invalid context length argument", s.value)
			}
			n = min(n, 1<<30)
			if s.name != "B" {
				g.after = n
			}
			if s.name != "A" {
				g.before = n
			}
		case "m":
			if !ok {
				return g.c.die(2, "invalid max count")
			}
			if g.most = n; n < 0 {
				g.most = 1<<63 - 1
			}
		}
	}
	// -A and -B win over -C wherever they stand.
	if n, ok := atoi(g.o.value("A", "")); ok {
		g.after = n
	}
	if n, ok := atoi(g.o.value("B", "")); ok {
		g.before = n
	}
	return 0
}

func (g *grepper) complain(name string, err error) {
	if errors.Is(err, errStopped) || g.c.ctx.Err() != nil {
		return
	}
	g.trouble = true
	if !g.o.on("s") {
		g.c.errorf("%s: %s", name, text(err))
	}
}

// included reports whether --include and --exclude let a file be searched.
func (g *grepper) included(name string) bool {
	ok := !g.o.on("include")
	for _, s := range g.o.set {
		if s.name == "include" && globBase(s.value, name) {
			ok = true
		}
		if s.name == "exclude" && globBase(s.value, name) {
			return false
		}
	}
	return ok
}

func globBase(glob, name string) bool { return fnmatch(glob, path.Base(name)) || fnmatch(glob, name) }

func (g *grepper) walk(dir string, bare bool) {
	list, err := g.c.readDir(dir)
	if err != nil {
		g.complain(dir, err)
		return
	}
	for _, e := range list {
		if g.c.stopped() || g.found && g.o.on("q") {
			return
		}
		name := join(dir, e.name)
		if bare {
			name = e.name
		}
		mode := e.Mode
		if mode&abi.S_IFMT == abi.S_IFLNK {
			if !g.o.on("R") {
				continue
			}
			st, err := g.c.stat(name)
			if err != nil {
				g.complain(name, err)
				continue
			}
			mode = st.Mode
		}
		switch mode & abi.S_IFMT {
		case abi.S_IFDIR:
			if !slices.ContainsFunc(g.o.values("exclude-dir"), func(p string) bool { return globBase(strings.TrimSuffix(p, "/"), e.name) }) {
				g.walk(name, false)
			}
		case abi.S_IFREG:
			if g.included(name) {
				g.file(name)
			}
		}
	}
}

// matches reports whether a line matches, without regard to -v.
func (g *grepper) matches(line []byte) bool {
	for _, p := range g.patterns {
		if !g.words && !g.whole {
			if p.Match(line) {
				return true
			}
		} else if len(g.find(p, line)) > 0 {
			return true
		}
	}
	return false
}

// find returns the matches of a pattern that -w and -x allow.
func (g *grepper) find(p pattern, line []byte) (kept [][2]int) {
	for _, m := range p.FindAllSubmatchIndex(line, -1) {
		from, to := m[0], m[1]
		if g.whole && (from > 0 || to < len(line)) {
			continue
		}
		if g.words && (from > 0 && wordByte(line[from-1]) || to < len(line) && wordByte(line[to])) {
			continue
		}
		kept = append(kept, [2]int{from, to})
	}
	return kept
}

// parts returns the matches to print, in order and without overlaps.
func (g *grepper) parts(line []byte) (all [][2]int) {
	for _, p := range g.patterns {
		all = append(all, g.find(p, line)...)
	}
	slices.SortFunc(all, func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return b[1] - a[1]
	})
	kept, end := all[:0], 0
	for _, m := range all {
		if m[1] > m[0] && m[0] >= end {
			kept, end = append(kept, m), m[1]
		}
	}
	return kept
}

func (g *grepper) file(name string) {
	r, err := g.c.open(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	defer r.Close()
	f := &grepFile{g: g, name: name}
	if name == "-" {
		f.name = g.o.value("label", "(standard input)")
	}
	if err := f.run(r); err != nil {
		g.complain(name, err)
	}
	for _, p := range g.patterns {
		if b, ok := p.(*backtracking); ok && b.timedOut {
			b.timedOut = false
			g.complain(name, errors.New("exceeded PCRE's backtracking limit"))
		}
	}
}

// grepFile is the search of one file.
type grepFile struct {
	g        *grepper
	name     string
	count    int
	number   int   // of the line, from 1
	offset   int64 // of the line
	kept     []keptLine
	trailing int // lines of context left to print
	printed  int // the number of the last line printed
	binary   bool
}

type keptLine struct {
	text   []byte
	number int
	offset int64
}

func (f *grepFile) run(r io.Reader) error {
	g, o := f.g, f.g.o
	l := g.c.lines(r, g.end)
	if !o.on("a") && o.value("binary-files", "") != "text" {
		start, _ := l.r.Peek(32 << 10)
		f.binary = bytes.IndexByte(start, 0) >= 0 && g.end != 0
		if f.binary && (o.on("I") || o.value("binary-files", "") == "without-match") {
			return nil
		}
	}
	lists := o.on("l") || o.on("L") || o.on("q")
	quiet := lists || o.on("c")
	if p, ok := g.literal(); ok && !quiet && g.most > 1<<62 {
		if err := f.skip(l, p); err != nil {
			return err
		}
	}
	for f.count < g.most || f.trailing > 0 {
		line, ok := l.next()
		if !ok {
			break
		}
		f.number++
		if f.count < g.most && g.matches(line) != g.invert {
			f.count++
			if lists || f.binary && !quiet {
				break
			}
			if !quiet {
				f.selected(line)
			}
		} else if !quiet {
			f.other(line)
		}
		f.offset += int64(len(line)) + 1
	}
	f.summary()
	return l.err
}

// literal returns the one fixed string that is searched for.
func (g *grepper) literal() (fixed, bool) {
	if len(g.patterns) != 1 || g.invert || g.words || g.whole || g.before+g.after > 0 || g.o.on("n") || g.o.on("b") {
		return nil, false
	}
	p, ok := g.patterns[0].(fixed)
	return p, ok && bytes.IndexByte(p, g.end) < 0
}

// skip discards the lines of whole buffers that do not have the literal.
func (f *grepFile) skip(l *lines, p fixed) error {
	for !f.binary {
		block, err := l.r.Peek(l.r.Size())
		if err != nil {
			return nil // the rest goes line by line
		}
		for {
			at := bytes.Index(block, p)
			end := bytes.LastIndexByte(block, f.g.end)
			if at >= 0 {
				end = bytes.LastIndexByte(block[:at], f.g.end)
			}
			if n, _ := l.r.Discard(end + 1); at < 0 && n == 0 {
				return nil // a long line
			}
			if at < 0 {
				break
			}
			line, ok := l.next()
			if !ok {
				return l.err
			}
			f.count++
			f.selected(line)
			block, _ = l.r.Peek(l.r.Buffered())
			if bytes.IndexByte(block, f.g.end) < 0 {
				break
			}
		}
	}
	return nil
}

func (f *grepFile) summary() {
	g, o, c := f.g, f.g.o, f.g.c
	some := f.count > 0
	if o.on("L") {
		if !some {
			g.found = true
			f.fileName()
		}
		return
	}
	g.found = g.found || some
	switch {
	case o.on("q"):
	case o.on("l"):
		if some {
			f.fileName()
		}
	case o.on("c"):
		if g.names {
			c.print(f.name)
			if o.on("Z") {
				c.out.WriteByte(0)
			} else {
				c.print(":")
			}
		}
		c.printf("%d\n", f.count)
	case f.binary && some:
		c.warnf("grep: %s: binary file matches\n", f.name)
	}
}

func (f *grepFile) fileName() {
	f.g.c.print(f.name)
	if f.g.o.on("Z") {
		f.g.c.out.WriteByte(0)
	} else {
		f.g.c.print("\n")
	}
}

// selected prints a line that was selected, after its context.
func (f *grepFile) selected(line []byte) {
	g := f.g
	if g.only {
		if g.invert {
			return
		}
		for _, m := range g.parts(line) {
			f.prefix(':', f.number, f.offset+int64(m[0]))
			f.paint(line[m[0]:m[1]])
			g.c.out.WriteByte(g.end)
		}
		return
	}
	f.gap(f.number - len(f.kept))
	for _, k := range f.kept {
		f.print('-', k.text, k.number, k.offset)
	}
	f.kept = f.kept[:0]
	f.print(':', line, f.number, f.offset)
	f.trailing = g.after
	if g.o.on("line-buffered") {
		g.c.out.Flush()
	}
}

// other takes a line that was not selected.
func (f *grepFile) other(line []byte) {
	g := f.g
	switch {
	case g.only:
	case f.trailing > 0:
		f.trailing--
		f.print('-', line, f.number, f.offset)
	case g.before > 0:
		if len(f.kept) == g.before {
			f.kept = append(f.kept[:0], f.kept[1:]...)
		}
		f.kept = append(f.kept, keptLine{bytes.Clone(line), f.number, f.offset})
	}
}

// gap prints the separator between groups of lines that do not touch.
func (f *grepFile) gap(first int) {
	g := f.g
	if g.before+g.after > 0 && (f.printed > 0 && first > f.printed+1 || f.printed == 0 && g.found) && !g.o.on("no-group-separator") {
		g.c.print(g.o.value("group-separator", "--"))
		g.c.out.WriteByte('\n')
	}
}

func (f *grepFile) print(mark byte, line []byte, number int, offset int64) {
	f.prefix(mark, number, offset)
	if f.g.color && mark == ':' && !f.g.invert {
		end := 0
		for _, m := range f.g.parts(line) {
			f.g.c.out.Write(line[end:m[0]])
			f.paint(line[m[0]:m[1]])
			end = m[1]
		}
		line = line[end:]
	}
	f.g.c.out.Write(line)
	f.g.c.out.WriteByte(f.g.end)
	f.printed = number
}

// paint prints a match, in red if there are colours.
func (f *grepFile) paint(b []byte) {
	if f.g.color {
		f.g.c.print("\x1b[01;31m\x1b[K")
		f.g.c.out.Write(b)
		f.g.c.print("\x1b[m\x1b[K")
		return
	}
	f.g.c.out.Write(b)
}

// prefix prints what stands before a line.
func (f *grepFile) prefix(mark byte, number int, offset int64) {
	g, out := f.g, f.g.c.out
	part := func(color, s string, null bool) {
		if g.color {
			s = "\x1b[" + color + "m\x1b[K" + s + "\x1b[m\x1b[K"
		}
		out.WriteString(s)
		switch {
		case null:
			out.WriteByte(0)
		case g.color:
			out.WriteString("\x1b[36m\x1b[K" + string(rune(mark)) + "\x1b[m\x1b[K")
		default:
			out.WriteByte(mark)
		}
	}
	if g.names {
		part("35", f.name, g.o.on("Z"))
	}
	if g.o.on("n") {
		part("32", strconv.Itoa(number), false)
	}
	if g.o.on("b") {
		part("32", strconv.FormatInt(offset, 10), false)
	}
	if g.o.on("T") && (g.names || g.o.on("n") || g.o.on("b")) {
		out.WriteByte('\t')
	}
}
