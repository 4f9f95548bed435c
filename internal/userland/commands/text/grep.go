package text

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/order"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/glob"
	"coderunner/internal/userland/regex"
)

const grepOptions = "E,extended-regexp F,fixed-strings G,basic-regexp P,perl-regexp e,regexp= f,file= i,y,ignore-case no-ignore-case w,word-regexp x,line-regexp z,null-data s,no-messages v,invert-match m,max-count= b,byte-offset n,line-number line-buffered H,with-filename h,no-filename label= o,only-matching q,quiet,silent binary-files= a,text I d,directories= !D,devices= r,recursive R,dereference-recursive include= exclude= !exclude-from= exclude-dir= L,files-without-match l,files-with-matches c,count T,initial-tab Z,null A,after-context= B,before-context= C,context= # group-separator= no-group-separator color=? colour=? U,binary"

// grepper is a running grep.
type grepper struct {
	c             *command.Call
	o             *command.Options
	patterns      []regex.Pattern
	words, whole  bool
	invert, only  bool
	names         bool // before lines
	before, after int
	most          int
	end           byte
	found         bool // something was selected
	trouble       bool
	color         bool
	zipped        bool // files may be compressed by gzip
}

// Grep searches for patterns in each file.
func Grep(c *command.Call) int {
	o := c.Parse(grepOptions)
	g := &grepper{c: c, o: o, words: o.On("w"), whole: o.On("x"), invert: o.On("v"), only: o.On("o"), most: 1<<63 - 1}
	g.end = command.LineEnd(o.On("z"))
	if bare, ok := strings.CutPrefix(c.Name, "z"); ok {
		c.Name, g.zipped = bare, true
	}
	g.color = o.Value("color", o.Value("colour", "never")) == "always"
	if len(o.Args) == 0 && !o.On("e") && !o.On("f") {
		c.Warnf("Usage: %s [OPTION]... PATTERNS [FILE]...\nTry '%s --help' for more information.\n", c.Name, c.Name)
		return 2
	}
	g.compile()
	g.numbers()
	recursive := o.On("r") || o.On("R") || o.Value("d", "") == "recurse"
	names := o.Args
	if len(names) == 0 {
		names = []string{"-"}
		if recursive {
			names = []string{"."}
		}
	}
	switch o.Last("H", "h") {
	case "H":
		g.names = true
	case "":
		g.names = len(names) > 1 || recursive && (len(names) > 1 || c.IsDir(names[0]))
	}
	for _, name := range names {
		if c.Stopped() || g.found && o.On("q") {
			break
		}
		switch {
		case name != "-" && c.IsDir(name):
			if recursive {
				g.walk(name, len(o.Args) == 0)
			} else if o.Value("d", "") != "skip" {
				g.complain(name, abi.EISDIR)
			}
		default:
			if name == "-" || g.included(name) {
				g.file(name)
			}
		}
	}
	switch {
	case g.trouble && !(g.found && o.On("q")):
		return 2
	case g.found:
		return 0
	}
	return 1
}

// compile reads the patterns.
func (g *grepper) compile() {
	o, c := g.o, g.c
	var sources []string
	for _, s := range o.Set {
		switch s.Name {
		case "e":
			sources = append(sources, strings.Split(s.Value, "\n")...)
		case "f":
			data, err := c.ReadFile(s.Value)
			c.Need(err, 2, "%s", s.Value)
			if len(data) > 0 {
				sources = append(sources, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
			}
		}
	}
	if !o.On("e") && !o.On("f") {
		sources = strings.Split(o.Args[0], "\n")
		o.Args = o.Args[1:]
	}
	kind := o.Last("E", "F", "G", "P")
	switch {
	case kind == "" && c.Name == "egrep":
		kind = "E"
	case kind == "" && c.Name == "fgrep":
		kind = "F"
	}
	fold := o.Last("i", "no-ignore-case") == "i"
	if kind == "P" && len(sources) > 1 {
		c.Exit(2, "the -P option only supports a single pattern")
	}
	for i, s := range sources {
		if i&0xfff == 0xfff && c.Stopped() {
			return
		}
		p, err := g.one(kind, s, fold)
		if err != nil {
			c.Exit(2, "%s", err)
		}
		g.patterns = append(g.patterns, p)
	}
}

func (g *grepper) one(kind, s string, fold bool) (regex.Pattern, error) {
	switch kind {
	case "F":
		if !fold && s != "" {
			return regex.Fixed(s), nil
		}
		var b strings.Builder
		for i := range len(s) {
			if strings.IndexByte(`\.[]*^$`, s[i]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		}
		return regex.Dialect{Fold: fold, Whole: g.whole, Limits: g.c.Limits()}.Compile(b.String())
	case "P":
		if g.whole {
			s = "^(?:" + s + ")$"
		}
		return regex.CompilePerl(s, fold, g.c.Limits())
	case "E":
		return regex.Dialect{Fold: fold, Extended: true, Whole: g.whole, Limits: g.c.Limits(), Warn: func(op string) {
			g.c.Warnf("grep: warning: %s at start of expression\n", op)
		}}.Compile(s)
	}
	return regex.Dialect{Fold: fold, Whole: g.whole, Limits: g.c.Limits()}.Compile(s)
}

func (g *grepper) numbers() {
	for _, s := range g.o.Set {
		n, ok := command.Atoi(s.Value)
		switch s.Name {
		case "A", "B", "C", "#":
			if !ok || n < 0 {
				g.c.Exit(2, "%s: invalid context length argument", s.Value)
			}
			n = min(n, 1<<30)
			if s.Name != "B" {
				g.after = n
			}
			if s.Name != "A" {
				g.before = n
			}
		case "m":
			if !ok {
				g.c.Exit(2, "invalid max count")
			}
			if g.most = n; n < 0 {
				g.most = 1<<63 - 1
			}
		}
	}
	// -A and -B win over -C wherever they stand.
	if n, ok := command.Atoi(g.o.Value("A", "")); ok {
		g.after = n
	}
	if n, ok := command.Atoi(g.o.Value("B", "")); ok {
		g.before = n
	}
}

func (g *grepper) complain(name string, err error) {
	if errors.Is(err, command.ErrStopped) || g.c.Ctx.Err() != nil {
		return
	}
	g.trouble = true
	if !g.o.On("s") {
		g.c.Errorf("%s: %s", name, command.Text(err))
	}
}

// included reports whether --include and --exclude let a file be searched.
func (g *grepper) included(name string) bool {
	ok := !g.o.On("include")
	for _, s := range g.o.Set {
		if s.Name == "include" && glob.MatchBase(s.Value, name) {
			ok = true
		}
		if s.Name == "exclude" && glob.MatchBase(s.Value, name) {
			return false
		}
	}
	return ok
}

func (g *grepper) walk(dir string, bare bool) {
	list, err := g.c.ReadDir(dir)
	if err != nil {
		g.complain(dir, err)
		return
	}
	for _, e := range list {
		if g.c.Stopped() || g.found && g.o.On("q") {
			return
		}
		name := command.Join(dir, e.Name)
		if bare {
			name = e.Name
		}
		mode := e.Mode
		if mode&abi.S_IFMT == abi.S_IFLNK {
			if !g.o.On("R") {
				continue
			}
			st, err := g.c.Stat(name)
			if err != nil {
				g.complain(name, err)
				continue
			}
			mode = st.Mode
		}
		switch mode & abi.S_IFMT {
		case abi.S_IFDIR:
			if !slices.ContainsFunc(g.o.Values("exclude-dir"), func(p string) bool { return glob.MatchBase(strings.TrimSuffix(p, "/"), e.Name) }) {
				g.walk(name, false)
			}
		case abi.S_IFREG:
			if g.included(name) {
				g.file(name)
			}
		}
	}
}

// unzipped returns what gzip compressed, and other files as they are.
func unzipped(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if start, _ := b.Peek(2); string(start) != "\x1f\x8b" {
		return b, nil
	}
	return gzip.NewReader(b)
}

// matches reports whether a line matches, without regard to -v.
func (g *grepper) matches(line []byte) bool {
	for i, p := range g.patterns {
		if i&0xfff == 0xfff && g.c.Stopped() {
			return false
		}
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
func (g *grepper) find(p regex.Pattern, line []byte) (kept [][2]int) {
	all, err := regex.FindAll(p, line, -1, g.c.Room)
	if err != nil {
		g.c.Exit(2, "%s", err)
	}
	for _, m := range all {
		from, to := m[0], m[1]
		if g.whole && (from > 0 || to < len(line)) {
			continue
		}
		if g.words && (from > 0 && regex.WordByte(line[from-1]) || to < len(line) && regex.WordByte(line[to])) {
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
	order.By(all, func(a, b [2]int) int {
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
	r, err := g.c.Open(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	defer r.Close()
	in := io.Reader(r)
	if g.zipped {
		if in, err = unzipped(r); err != nil {
			g.complain(name, err)
			return
		}
	}
	f := &grepFile{g: g, name: name}
	if name == "-" {
		f.name = g.o.Value("label", "(standard input)")
	}
	if err := f.run(in); err != nil {
		g.complain(name, err)
	}
	for _, p := range g.patterns {
		if b, ok := p.(*regex.Backtracking); ok && b.TimedOut {
			b.TimedOut = false
			g.complain(name, errors.New("exceeded PCRE's backtracking limit"))
		}
	}
}
