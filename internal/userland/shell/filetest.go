package shell

import (
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
)

// fileTest is a test of a file that a path leads to, or of a descriptor that it names.
func (sh *shell) fileTest(op, name string) bool {
	st, access, ok := sh.stat(name)
	if !ok {
		return false
	}
	kind := st.Mode & abi.S_IFMT
	switch op {
	case "-e", "-a", "-O", "-G":
		return true
	case "-f":
		return kind == abi.S_IFREG
	case "-d":
		return kind == abi.S_IFDIR
	case "-p":
		return kind == abi.S_IFIFO
	case "-c":
		return kind == abi.S_IFCHR
	case "-s":
		return st.Size > 0
	case "-r":
		return access(abi.R_OK)
	case "-w":
		return access(abi.W_OK)
	case "-x":
		return access(abi.X_OK)
	case "-u":
		return st.Mode&0o4000 != 0
	case "-g":
		return st.Mode&0o2000 != 0
	case "-k":
		return st.Mode&0o1000 != 0
	case "-N":
		return st.Mtime.Time().After(st.Atime.Time())
	}
	return false
}

// stat describes what a path leads to. /dev/stdin and /dev/fd/N are what the shell's own
// descriptors are: -p /dev/stdin is how a script asks whether something is piped to it.
func (sh *shell) stat(name string) (st abi.Stat, access func(uint32) bool, ok bool) {
	n, e := sh.node(name, true)
	if fd, is := sh.descriptorPath(name); is {
		f := sh.fds[fd]
		if f == nil {
			return st, nil, false
		}
		if n, e = f.Node(), abi.OK; n == nil {
			return f.Stat(), func(mode uint32) bool { return mode&abi.X_OK == 0 }, true
		}
	}
	if e != abi.OK {
		return st, nil, false
	}
	return sh.fs.Stat(n), func(mode uint32) bool { return sh.fs.Access(n, mode) == abi.OK }, true
}

// descriptorPath returns the descriptor that a path names.
func (sh *shell) descriptorPath(name string) (fd int, ok bool) {
	if rest, is := strings.CutPrefix(name, "/dev/"); is {
		switch rest {
		case "stdin":
			return 0, true
		case "stdout":
			return 1, true
		case "stderr":
			return 2, true
		}
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if rest, is := strings.CutPrefix(name, dir); is {
			fd, err := strconv.Atoi(rest)
			return fd, err == nil
		}
	}
	return 0, false
}
