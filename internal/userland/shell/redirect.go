package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
	"coderunner/internal/userland/shell/vars"
)

// redirect applies redirections, in their order. restore undoes them, also after
// an error.
func (sh *shell) redirect(list []*syntax.Redirect) (undo []files.Saved, err error) {
	for _, r := range list {
		if err = sh.redirectOne(r, &undo); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

func (sh *shell) redirectOne(r *syntax.Redirect, undo *[]files.Saved) error {
	fd, name, err := target(r)
	if err != nil {
		return err
	}
	put := func(f *memfs.File) error {
		if name != "" {
			return sh.putNamed(name, f)
		}
		sh.files.Put(fd, f, undo)
		return nil
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		s, err := sh.ex.HereDocument(r)
		if err != nil {
			return err
		}
		return put(sh.files.TextFile(s))
	case syntax.WordHdoc:
		s, err := sh.ex.Literal(r.Word)
		if err != nil {
			return err
		}
		if !sh.Room(int64(len(s)) + 1) {
			return vars.ErrMemory
		}
		return put(sh.files.TextFile(s + "\n"))
	}
	words, err := sh.ex.Fields([]*syntax.Word{r.Word})
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return fmt.Errorf("%s: ambiguous redirect", sh.src.Of(r.Word))
	}
	to := words[0]
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		return sh.duplicate(r, fd, name, to, undo)
	}
	f, err := sh.openFor(r.Op, to)
	if err != nil {
		return err
	}
	if r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
		sh.files.Put(1, f, undo)
		sh.files.Put(2, f.Ref(), undo)
		return nil
	}
	return put(f)
}

// target returns the descriptor that a redirection is about, or the variable that
// is to hold it.
func target(r *syntax.Redirect) (fd int, name string, err error) {
	if r.N == nil {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			return 0, "", nil
		}
		return 1, "", nil
	}
	n := r.N.Value
	if strings.HasPrefix(n, "{") {
		return -1, strings.Trim(n, "{}"), nil
	}
	fd, e := strconv.Atoi(n)
	if e != nil || fd > files.MaxFD {
		return 0, "", fmt.Errorf("%s: Bad file descriptor", n)
	}
	return fd, "", nil
}

// putNamed puts f at a free descriptor from 10 on, whose number the variable gets.
func (sh *shell) putNamed(name string, f *memfs.File) error {
	for fd := 10; fd <= files.MaxFD; fd++ {
		if sh.files.FDs[fd] == nil {
			sh.files.FDs[fd] = f
			return sh.vars.Set(name, strconv.Itoa(fd))
		}
	}
	f.Close()
	return fmt.Errorf("%s: Too many open files", name)
}

func (sh *shell) duplicate(r *syntax.Redirect, fd int, name, to string, undo *[]files.Saved) error {
	if to == "-" {
		if name != "" {
			v, err := sh.ex.FetchText(name)
			if err != nil {
				return err
			}
			number := strings.Join(v.Elems, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				return fmt.Errorf("%s: Bad file descriptor", number)
			}
			sh.files.Set(n, nil)
			return nil
		}
		sh.files.Put(fd, nil, undo)
		return nil
	}
	number, move := strings.CutSuffix(to, "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		if r.Op == syntax.DplOut && (r.N == nil || r.N.Value == "1") { // >&file
			f, err := sh.openFor(syntax.RdrOut, to)
			if err != nil {
				return err
			}
			sh.files.Put(1, f, undo)
			sh.files.Put(2, f.Ref(), undo)
			return nil
		}
		return fmt.Errorf("%s: ambiguous redirect", sh.src.Of(r.Word))
	}
	f := sh.files.FDs[n]
	if f == nil {
		return fmt.Errorf("%d: Bad file descriptor", n)
	}
	if name != "" {
		return sh.putNamed(name, f.Ref())
	}
	if n != fd {
		sh.files.Put(fd, f.Ref(), undo)
		if move {
			sh.files.Put(n, nil, undo)
		}
	}
	return nil
}

func (sh *shell) openFor(op syntax.RedirOperator, name string) (*memfs.File, error) {
	if address, ok := connection(name); ok {
		stream, err := sh.p.Kernel().Connect(sh.ctx, address)
		if e, ok := errors.AsType[abi.Errno](err); ok {
			return nil, fmt.Errorf("connect: %s\n%s%s: %[1]s", files.Message(e), sh.prefix(), name)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %v", name, err)
		}
		return sh.files.FS.NewFile(stream, abi.O_RDWR|abi.O_CLOEXEC, abi.S_IFSOCK|0o600), nil
	}
	flags := abi.O_WRONLY | abi.O_CREAT | abi.O_TRUNC
	switch op {
	case syntax.RdrIn:
		flags = abi.O_RDONLY
	case syntax.RdrInOut:
		flags = abi.O_RDWR | abi.O_CREAT
	case syntax.AppOut, syntax.AppAll:
		flags = abi.O_WRONLY | abi.O_CREAT | abi.O_APPEND
	case syntax.RdrOut, syntax.RdrAll:
		if n, e := sh.files.Lookup(name, true); sh.opts.Noclobber && e == abi.OK && n.Type() == abi.S_IFREG {
			return nil, fmt.Errorf("%s: cannot overwrite existing file", name)
		}
	}
	f, e := sh.files.Open(sh.ctx, name, flags, 0o666)
	if e != abi.OK {
		return nil, fmt.Errorf("%s: %s", name, files.Message(e))
	}
	return f, nil
}

// connection returns the address that /dev/tcp/HOST/PORT names.
func connection(name string) (address string, ok bool) {
	rest, ok := strings.CutPrefix(name, "/dev/tcp/")
	if !ok {
		return "", false
	}
	host, port, ok := strings.Cut(rest, "/")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port, ok && host != "" && port != ""
}
