package find

import (
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/file"
)

func findDelete(f *finder, e *found) bool {
	if e.path == "." {
		return true
	}
	var err abi.Errno
	if e.st.IsDir() {
		err = f.c.FS.Rmdir(nil, f.c.Abs(e.path))
	} else {
		err = f.c.FS.Unlink(nil, f.c.Abs(e.path))
	}
	if err != abi.OK {
		f.c.Fail("cannot delete %s: %s", command.Quote(e.path), command.Text(err))
	}
	return err == abi.OK
}

// exec parses -exec, -execdir and -ok.
func (f *finder) exec(name string) *node {
	end := slices.IndexFunc(f.args, func(a string) bool { return a == ";" })
	for i, a := range f.args {
		if a == "+" && i > 0 && f.args[i-1] == "{}" && (end < 0 || i < end) {
			n := &node{args: f.args[:i-1]}
			n.test = func(f *finder, e *found) bool {
				if n.size += len(e.path) + 1; n.size > 128<<10 {
					f.runBatch(n)
					n.size = len(e.path) + 1
				}
				n.held = append(n.held, e.path)
				return true
			}
			f.batches = append(f.batches, n)
			f.args = f.args[i+1:]
			return n
		}
	}
	if end <= 0 {
		f.c.Exit(1, "missing argument to `%s'", name)
	}
	argv := f.args[:end]
	f.args = f.args[end+1:]
	return &node{test: func(f *finder, e *found) bool {
		path, ch := e.path, command.Child{}
		if name == "-execdir" {
			path, ch.Dir = "./"+command.Base(e.path), f.c.Canonical(command.Dir(e.path), true)
		}
		for _, a := range argv {
			ch.Args = append(ch.Args, strings.ReplaceAll(a, "{}", path))
		}
		if name == "-ok" {
			f.c.Warnf("< %s ... %s > ? ", ch.Args[0], e.path)
			if !file.Yes(f.c) {
				return false
			}
		}
		status, err := f.c.Run(ch)
		if err != nil {
			f.c.Fail("%s: %s", command.Quote(ch.Args[0]), command.Text(err))
		}
		return status == 0
	}}
}

func (f *finder) runBatch(n *node) {
	if len(n.held) == 0 {
		return
	}
	ch := command.Child{Args: append(slices.Clone(n.args), n.held...)}
	n.held, n.size = nil, 0
	status, err := f.c.Run(ch)
	if err != nil {
		f.c.Errorf("%s: %s", command.Quote(ch.Args[0]), command.Text(err))
	}
	if status != 0 {
		f.c.Status = 1
	}
}
