package shell

import (
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/files"
)

// fdLine begins a line of a state that has a descriptor of exec 3>file: its number, and
// either the standard stream that it is, or the file's flags, its position and its path.
const fdLine = "# fd "

// descriptors describes the descriptors from 3 on that are files of the session's
// directory or its standard streams. Others end with the call, and so does what exec
// made of the standard streams: each call has its own.
func (s *Session) descriptors(sh *shell) string {
	var b strings.Builder
	var paths map[*memfs.Node]string
	for fd := 3; fd <= files.MaxFD; fd++ {
		f := sh.files.FDs[fd]
		if f == nil {
			continue
		}
		for n, std := range s.std {
			if f == std {
				fmt.Fprintf(&b, "%s%d %d\n", fdLine, fd, n)
			}
		}
		if f.Node() == nil || f.Node().Type() != abi.S_IFREG {
			continue
		}
		if paths == nil {
			paths = sh.files.Below(s.home)
		}
		at, e := f.SeekTo(0, io.SeekCurrent)
		if name, ok := paths[f.Node()]; ok && e == abi.OK && !strings.Contains(name, "\n") {
			fmt.Fprintf(&b, "%s%d %d %d %s\n", fdLine, fd, f.Flags()&(abi.O_ACCMODE|abi.O_APPEND), at, name)
		}
	}
	return b.String()
}

// reopen opens the descriptors of a state, as far as their files are still there.
func (s *Session) reopen(sh *shell) {
	_, rest, _ := strings.Cut(s.Before, "\n")
	for line := range strings.Lines(rest) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), fdLine)
		if !ok {
			return
		}
		words := strings.SplitN(line, " ", 4)
		var n [3]int64
		for i, w := range words[:min(3, len(words))] {
			n[i], _ = strconv.ParseInt(w, 10, 64)
		}
		fd := int(n[0])
		switch {
		case fd < 3 || fd > files.MaxFD:
		case len(words) == 2 && n[1] >= 0 && n[1] < 3 && s.std[n[1]] != nil:
			sh.files.Set(fd, s.std[n[1]].Ref())
		case len(words) == 4 && path.IsAbs(words[3]):
			f, e := sh.files.Open(sh.ctx, words[3], uint32(n[1])&(abi.O_ACCMODE|abi.O_APPEND), 0)
			if e != abi.OK {
				continue
			}
			f.SeekTo(n[2], io.SeekStart)
			sh.files.Set(fd, f)
		}
	}
}
