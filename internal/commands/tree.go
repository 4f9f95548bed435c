package commands

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/pyodide/abi"
)

// tree lists directories as a tree.
func tree(c *call) int {
	o, status := c.options("a d f F i L= P= I= s h p noreport dirsfirst !r !t C n !o= !J !ignore-case")
	if o == nil {
		return status
	}
	t := &treeRun{c: c, o: o, deepest: maxDepth}
	if l := o.value("L", ""); l != "" {
		n, ok := atoi(l)
		if !ok || n < 1 {
			return c.die(1, "Invalid level, must be greater than 0.")
		}
		t.deepest = n
	}
	names := o.args
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, n := range names {
		if st, err := c.stat(n); err != nil || !st.IsDir() {
			c.printf("%s  [error opening dir]\n", n)
			c.status = 2
			continue
		}
		c.print(n + "\n")
		t.dirs++
		t.walk(n, "", 1)
	}
	if !o.on("noreport") {
		plural := func(n int, one, many string) string {
			if n == 1 {
				return fmt.Sprintf("%d %s", n, one)
			}
			return fmt.Sprintf("%d %s", n, many)
		}
		c.print("\n" + plural(t.dirs, "directory", "directories"))
		if !o.on("d") {
			c.print(", " + plural(t.files, "file", "files"))
		}
		c.print("\n")
	}
	return c.status
}

type treeRun struct {
	c           *call
	o           *options
	deepest     int
	dirs, files int
}

func (t *treeRun) walk(name, prefix string, depth int) {
	list, err := t.c.readDir(name)
	if err != nil || t.c.stopped() {
		return
	}
	o := t.o
	list = slices.DeleteFunc(list, func(e entry) bool {
		hidden := e.name[0] == '.' && !o.on("a")
		return hidden || o.on("d") && !e.IsDir() || o.on("I") && anyGlob(o.value("I", ""), e.name) ||
			o.on("P") && !e.IsDir() && !anyGlob(o.value("P", ""), e.name)
	})
	if o.on("dirsfirst") {
		slices.SortStableFunc(list, func(a, b entry) int { return btoi(b.IsDir()) - btoi(a.IsDir()) })
	}
	for i, e := range list {
		branch, below := "├── ", "│\u00a0\u00a0 "
		if i == len(list)-1 {
			branch, below = "└── ", "    "
		}
		full, shown := join(name, e.name), e.name
		if o.on("f") {
			shown = full
		}
		if o.on("p") {
			shown = "[" + modeString(e.Mode) + "]  " + shown
		}
		if o.on("s") {
			shown = fmt.Sprintf("[%11d]  %s", e.Size, shown)
		}
		if e.Mode&abi.S_IFMT == abi.S_IFLNK {
			if n, err := t.c.lookup(full, false); err == abi.OK {
				target, _ := t.c.fs.Readlink(n)
				shown += " -> " + target
			}
		}
		if o.on("F") && e.IsDir() {
			shown += "/"
		}
		if o.on("i") {
			branch, below = "", ""
			t.c.print(shown + "\n")
		} else {
			t.c.print(prefix + branch + shown + "\n")
		}
		if e.IsDir() {
			t.dirs++
			if depth < t.deepest {
				t.walk(full, prefix+below, depth+1)
			}
		} else {
			t.files++
		}
	}
}

// anyGlob matches alternatives separated by "|".
func anyGlob(globs, name string) bool {
	return slices.ContainsFunc(strings.Split(globs, "|"), func(g string) bool { return fnmatch(g, name) })
}
