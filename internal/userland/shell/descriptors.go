package shell

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// fdLine begins a line of a state that has a descriptor of exec 3>file: its number, and
// either the standard stream that it is, or the file's flags, its position and its path.
const fdLine = "# fd "

// maxSearched bounds the entries among which a descriptor's file is searched.
const maxSearched = 20_000

// standard are the streams that a call begins with.
func (sh *shell) standard() (files [3]*memfs.File) {
	for fd := range files {
		files[fd] = sh.fds[fd]
	}
	return files
}

// descriptors describes the descriptors from 3 on that are files of the session's
// directory or its standard streams. Others end with the call, and so does what exec
// made of the standard streams: each call has its own.
func (s *Session) descriptors(sh *shell) string {
	var b strings.Builder
	var paths map[*memfs.Node]string
	for fd := 3; fd <= maxFD; fd++ {
		f := sh.fds[fd]
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
			paths = sh.filesBelow(s.home)
		}
		at, e := f.SeekTo(0, io.SeekCurrent)
		if name, ok := paths[f.Node()]; ok && e == abi.OK && !strings.Contains(name, "\n") {
			fmt.Fprintf(&b, "%s%d %d %d %s\n", fdLine, fd, f.Flags()&(abi.O_ACCMODE|abi.O_APPEND), at, name)
		}
	}
	return b.String()
}

// filesBelow returns the files below a directory.
func (sh *shell) filesBelow(dir string) map[*memfs.Node]string {
	found := map[*memfs.Node]string{}
	walked := 0
	_ = fs.WalkDir(sh.fs.FS(), strings.TrimPrefix(dir, "/"), func(name string, d fs.DirEntry, err error) error {
		if walked++; err != nil || walked > maxSearched {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			if n, e := sh.node("/"+name, false); e == abi.OK {
				found[n] = "/" + name
			}
		}
		return nil
	})
	return found
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
		case fd < 3 || fd > maxFD:
		case len(words) == 2 && n[1] >= 0 && n[1] < 3 && s.std[n[1]] != nil:
			sh.setFD(fd, s.std[n[1]].Ref())
		case len(words) == 4 && path.IsAbs(words[3]):
			f, e := sh.open(words[3], uint32(n[1])&(abi.O_ACCMODE|abi.O_APPEND), 0)
			if e != abi.OK {
				continue
			}
			f.SeekTo(n[2], io.SeekStart)
			sh.setFD(fd, f)
		}
	}
}
