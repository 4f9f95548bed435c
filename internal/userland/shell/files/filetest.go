package files

import (
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Test is a test of a file that a path leads to, or of a descriptor that it names.
func (fl *Files) Test(op, name string) bool {
	st, access, ok := fl.Stat(name)
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

// Stat describes what a path leads to. /dev/stdin and /dev/fd/N are what the shell's own
// descriptors are: -p /dev/stdin is how a script asks whether something is piped to it.
func (fl *Files) Stat(name string) (st abi.Stat, access func(uint32) bool, ok bool) {
	n, e := fl.Lookup(name, true)
	if fd, is := fl.Descriptor(name); is {
		f := fl.FDs[fd]
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
	return fl.FS.Stat(n), func(mode uint32) bool { return fl.FS.Access(n, mode) == abi.OK }, true
}

// Descriptor returns the descriptor that a path names.
func (fl *Files) Descriptor(name string) (fd int, ok bool) {
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

// IsTerminal reports whether a descriptor is an input that somebody types.
func (fl *Files) IsTerminal(fd int) bool {
	if fl.FDs[fd] == nil {
		return false
	}
	in, ok := fl.FDs[fd].Stream().(*memfs.Input)
	return ok && in.Terminal
}
