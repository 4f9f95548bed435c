package commands

import (
	"strings"
	"time"

	"coderunner/pyodide/abi"
)

// finder is a running find.
type finder struct {
	c          *call
	expr       *findNode
	follow     bool // -L
	operands   bool // -H
	depthFirst bool
	least      int
	most       int
	xdev       bool
	quit       bool
	now        time.Time
	batches    []*findNode // -exec … +
	status     int
	pruned     bool
	args       []string
}

// found is a file that find looks at.
type found struct {
	path, root string
	depth      int
	st         abi.Stat
}

// findNode is a part of the expression.
type findNode struct {
	op   string // and, or, not, comma, or a test
	a, b *findNode
	test func(*finder, *found) bool
	args []string // of -exec … +: the command
	held []string
	size int
}

func find(c *call) int {
	f := &finder{c: c, most: maxDepth, now: time.Now()}
	args := c.args
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-H" || args[0] == "-P") {
		f.follow, f.operands = args[0] == "-L", args[0] == "-H"
		args = args[1:]
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "--version" || args[0] == "-help" || args[0] == "-version") {
		c.about(strings.TrimLeft(args[0], "-"))
		return 0
	}
	var roots []string
	for len(args) > 0 && (args[0] == "" || args[0][0] != '-' || args[0] == "-") && args[0] != "(" && args[0] != "!" && args[0] != ")" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if roots == nil {
		roots = []string{"."}
	}
	f.args = args
	if err := f.parse(); err != nil {
		return c.die(1, "%s", err)
	}
	for _, r := range roots {
		st, err := c.statOf(r, f.follow || f.operands)
		if err != nil {
			if st, err = c.lstat(r); err != nil {
				f.fail("%s: %s", quote(r), text(err))
				continue
			}
		}
		f.walk(&found{path: r, root: r, st: st})
		if f.quit || c.stopped() {
			break
		}
	}
	for _, b := range f.batches {
		f.runBatch(b)
	}
	return f.status
}

func (f *finder) fail(format string, args ...any) {
	f.status = 1
	f.c.errorf(format, args...)
}

func (f *finder) walk(e *found) {
	if f.quit || f.c.stopped() {
		return
	}
	visit := func() {
		if e.depth >= f.least {
			f.eval(f.expr, e)
		}
	}
	f.pruned = false
	if !f.depthFirst {
		visit()
	}
	if e.st.IsDir() && e.depth < f.most && !(f.pruned && !f.depthFirst) && !f.quit {
		list, err := f.c.readDir(e.path)
		if err != nil {
			f.fail("%s: %s", quote(e.path), text(err))
		}
		for _, l := range list {
			child := &found{path: join(e.path, l.name), root: e.root, depth: e.depth + 1, st: l.Stat}
			if f.follow && l.Mode&abi.S_IFMT == abi.S_IFLNK {
				if st, err := f.c.stat(child.path); err == nil && !(st.IsDir() && f.loops(child.path, st)) {
					child.st = st
				}
			}
			f.walk(child)
		}
	}
	if f.depthFirst {
		visit()
	}
}

// loops reports whether a directory is one of those above it.
func (f *finder) loops(path string, st abi.Stat) bool {
	for p := dir(path); ; p = dir(p) {
		if up, err := f.c.stat(p); err == nil && up.Ino == st.Ino && up.Dev == st.Dev {
			f.fail("File system loop detected; %s is part of the same file system loop as %s.", quote(path), quote(p))
			return true
		}
		if p == "." || p == "/" {
			return false
		}
	}
}

func (f *finder) eval(n *findNode, e *found) bool {
	switch n.op {
	case "and":
		return f.eval(n.a, e) && !f.quit && f.eval(n.b, e)
	case "or":
		return f.eval(n.a, e) || !f.quit && f.eval(n.b, e)
	case "comma":
		f.eval(n.a, e)
		return f.eval(n.b, e)
	case "not":
		return !f.eval(n.a, e)
	}
	return n.test(f, e)
}
