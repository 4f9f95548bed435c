package file

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/order"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/glob"
)

// Tree lists directories as a tree.
func Tree(c *command.Call) int {
	o := c.Parse("a d f F i L= P= I= s h p noreport dirsfirst !r !t C n !o= !J !ignore-case")
	t := &treeRun{c: c, o: o, deepest: command.MaxDepth}
	if l := o.Value("L", ""); l != "" {
		n, ok := command.Atoi(l)
		if !ok || n < 1 {
			return c.Die(1, "Invalid level, must be greater than 0.")
		}
		t.deepest = n
	}
	names := o.Operands(".")
	for _, n := range names {
		if st, err := c.Stat(n); err != nil || !st.IsDir() {
			c.Printf("%s  [error opening dir]\n", n)
			c.Status = 2
			continue
		}
		c.Print(n + "\n")
		t.dirs++
		t.walk(n, "", 1)
	}
	if !o.On("noreport") {
		plural := func(n int, one, many string) string {
			if n == 1 {
				return fmt.Sprintf("%d %s", n, one)
			}
			return fmt.Sprintf("%d %s", n, many)
		}
		c.Print("\n" + plural(t.dirs, "directory", "directories"))
		if !o.On("d") {
			c.Print(", " + plural(t.files, "file", "files"))
		}
		c.Print("\n")
	}
	return c.Status
}

type treeRun struct {
	c           *command.Call
	o           *command.Options
	deepest     int
	dirs, files int
}

func (t *treeRun) walk(name, prefix string, depth int) {
	list, err := t.c.ReadDir(name)
	if err != nil || t.c.Stopped() {
		return
	}
	o := t.o
	list = slices.DeleteFunc(list, func(e command.Entry) bool {
		hidden := e.Name[0] == '.' && !o.On("a")
		return hidden || o.On("d") && !e.IsDir() || o.On("I") && anyGlob(o.Value("I", ""), e.Name) ||
			o.On("P") && !e.IsDir() && !anyGlob(o.Value("P", ""), e.Name)
	})
	if o.On("dirsfirst") {
		order.Stably(list, func(a, b command.Entry) int { return command.Btoi(b.IsDir()) - command.Btoi(a.IsDir()) })
	}
	for i, e := range list {
		branch, below := "├── ", "│\u00a0\u00a0 "
		if i == len(list)-1 {
			branch, below = "└── ", "    "
		}
		full, shown := command.Join(name, e.Name), e.Name
		if o.On("f") {
			shown = full
		}
		if o.On("p") {
			shown = "[" + ModeString(e.Mode) + "]  " + shown
		}
		if o.On("s") {
			shown = fmt.Sprintf("[%11d]  %s", e.Size, shown)
		}
		if target, err := t.c.Readlink(full); err == nil {
			shown += " -> " + target
		}
		if o.On("F") && e.IsDir() {
			shown += "/"
		}
		if o.On("i") {
			branch, below = "", ""
			t.c.Print(shown + "\n")
		} else {
			t.c.Print(prefix + branch + shown + "\n")
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
	return slices.ContainsFunc(strings.Split(globs, "|"), func(g string) bool { return glob.Match(g, name) })
}
