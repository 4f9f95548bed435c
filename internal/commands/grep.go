package commands

import (
	"errors"
	"path"
	"slices"
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
