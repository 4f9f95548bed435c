// Package find is the command find: an expression of tests and actions, evaluated
// for each file below the starting points.
package find

import (
	"bufio"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// finder is a running find.
type finder struct {
	c          *command.Call
	expr       *node
	follow     bool // -L
	operands   bool // -H
	depthFirst bool
	least      int
	most       int
	quit       bool
	now        time.Time
	batches    []*node // -exec … +
	pruned     bool
	prunes     bool // the expression has -prune
	deletes    bool // and -delete
	asked      bool // and -depth
	outputs    map[string]*bufio.Writer
	args       []string // that are left to parse
	last       string   // test or action that was parsed
}

// found is a file that find looks at.
type found struct {
	path, root string
	depth      int
	st         abi.Stat
}

// node is a part of the expression.
type node struct {
	op   string // and, or, not, comma, or a test
	a, b *node
	test func(*finder, *found) bool
	args []string // of -exec … +: the command
	held []string
	size int
}

// Main is find: it searches for files.
func Main(c *command.Call) int {
	f := &finder{c: c, most: command.MaxDepth, now: time.Now()}
	args := c.Args
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-H" || args[0] == "-P") {
		f.follow, f.operands = args[0] == "-L", args[0] == "-H"
		args = args[1:]
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "--version" || args[0] == "-help" || args[0] == "-version") {
		c.About(strings.TrimLeft(args[0], "-"))
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
	f.parse()
	for _, r := range roots {
		st, err := c.StatOf(r, f.follow || f.operands)
		if err != nil {
			if st, err = c.Lstat(r); err != nil {
				f.c.Fail("%s: %s", command.Quote(r), command.Text(err))
				continue
			}
		}
		f.walk(&found{path: r, root: r, st: st})
		if f.quit || c.Stopped() {
			break
		}
	}
	for _, b := range f.batches {
		f.runBatch(b)
	}
	return c.Status
}

func (f *finder) walk(e *found) {
	if f.quit || f.c.Stopped() {
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
		list, err := f.c.ReadDir(e.path)
		if err != nil {
			f.c.Fail("%s: %s", command.Quote(e.path), command.Text(err))
		}
		for _, l := range list {
			child := &found{path: command.Join(e.path, l.Name), root: e.root, depth: e.depth + 1, st: l.Stat}
			if f.follow && l.Mode&abi.S_IFMT == abi.S_IFLNK {
				if st, err := f.c.Stat(child.path); err == nil && !(st.IsDir() && f.loops(child.path, st)) {
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
	for p := command.Dir(path); ; p = command.Dir(p) {
		if up, err := f.c.Stat(p); err == nil && up.Ino == st.Ino && up.Dev == st.Dev {
			f.c.Fail("File system loop detected; %s is part of the same file system loop as %s.", command.Quote(path), command.Quote(p))
			return true
		}
		if p == "." || p == "/" {
			return false
		}
	}
}

func (f *finder) eval(n *node, e *found) bool {
	f.enter()
	defer f.c.Leave(frame)
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
