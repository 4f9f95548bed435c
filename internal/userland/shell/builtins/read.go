package builtins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/userland/shell/arith"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// readOptions are those of read.
type readOptions struct {
	raw     bool
	silent  bool
	array   string
	delim   byte
	count   int // characters; -1: a line
	exact   bool
	prompt  string
	timeout time.Duration
	timed   bool
	fd      int
}

func read(sh Shell, flags Flags, names []string) int {
	o := readOptions{delim: '\n', count: -1}
	for _, f := range flags {
		if !readFlag(sh, f.Letter, f.Value, &o) {
			return 1
		}
	}
	if sh.Files().FDs[o.fd] == nil {
		return fail(sh, "read: %d: invalid file descriptor: Bad file descriptor", o.fd)
	}
	if sh.Files().IsTerminal(o.fd) {
		defer keys(sh, o)()
		sh.Write(2, o.prompt)
	}
	ctx, old := sh.Context(), sh.Context()
	if o.timed {
		if o.timeout <= 0 {
			return int(arith.Truth(sh.Files().FDs[o.fd].Ready()&(abi.POLLIN|abi.POLLHUP) == 0))
		}
		timed, cancel := context.WithTimeout(old, o.timeout)
		defer cancel()
		ctx = timed
	}
	status := 0
	line, err := readRecord(sh, ctx, o)
	switch {
	case errors.Is(err, vars.ErrMemory):
		sh.Exhausted(err)
		return 1
	case err != nil && !errors.Is(err, io.EOF):
		if status = 1; o.timed && old.Err() == nil {
			status = 128 + 14
		}
	case err != nil:
		status = 1
	}
	if e := readInto(sh, o, names, line); e != nil {
		return failed(sh, "read", e)
	}
	return status
}

// keys has the terminal give keys as read wants them, until restore is called.
func keys(sh Shell, o readOptions) (restore func()) {
	in, _ := sh.Files().FDs[o.fd].Stream().(*memfs.Input)
	lines := o.count < 0 && o.delim == '\n'
	if in.Mode == nil || lines && !o.silent {
		return func() {}
	}
	return in.Mode(lines, !o.silent)
}

func readFlag(sh Shell, c byte, value string, o *readOptions) bool {
	var err error
	switch c {
	case 'r':
		o.raw = true
	case 's':
		o.silent = true
	case 'a':
		o.array = value
	case 'd':
		o.delim = 0
		if value != "" {
			o.delim = value[0]
		}
	case 'n', 'N':
		o.count, err = strconv.Atoi(value)
		o.exact = c == 'N'
	case 't':
		var seconds float64
		seconds, err = strconv.ParseFloat(value, 64)
		o.timeout, o.timed = time.Duration(seconds*float64(time.Second)), true
		if err != nil || seconds < 0 {
			sh.Errorf("read: %s: invalid timeout specification", value)
			return false
		}
	case 'p':
		o.prompt = value
	case 'u':
		o.fd, err = strconv.Atoi(value)
	}
	if err != nil || o.count < -1 {
		sh.Errorf("read: %s: invalid number", value)
		return false
	}
	return true
}

// letters are characters that were read, which a backslash may have quoted.
type letters struct {
	text   []byte
	quoted []bool
}

func (l *letters) add(c byte, quoted bool) {
	l.text = append(l.text, c)
	l.quoted = append(l.quoted, quoted)
}

// readRecord reads to the delimiter, or a number of characters.
func readRecord(sh Shell, ctx context.Context, o readOptions) (letters, error) {
	var l letters
	r := sh.Process().Reader(ctx, sh.Files().FDs[o.fd])
	var one [1]byte // nothing is taken from the commands that read the descriptor next
	escaped := false
	for n, total := 0, 0; o.count < 0 || n < o.count; total++ {
		if total&4095 == 0 && ctx.Err() != nil { // a device never waits
			return l, ctx.Err()
		}
		if n, err := r.Read(one[:]); n == 0 {
			return l, cmp.Or(err, io.EOF)
		}
		c := one[0]
		if len(l.text)%4096 == 4095 && !sh.Vars().Room(4*4096) {
			return l, vars.ErrMemory
		}
		switch {
		case escaped && c == '\n':
			escaped = false
			continue
		case escaped:
			l.add(c, true)
			escaped = false
		case c == '\\' && !o.raw:
			escaped = true
			continue
		case c == o.delim && !o.exact:
			return l, nil
		case c == 0:
			continue
		default:
			l.add(c, false)
		}
		if c < 0x80 || c >= 0xC0 {
			n++
		} else if o.count > 0 && n == o.count {
			break
		}
	}
	return l, nil
}

// ReadLine reads to a delimiter. A backslash is a character as others.
func ReadLine(sh Shell, fd int, delim byte) (string, error) {
	if sh.Files().FDs[fd] == nil {
		return "", io.EOF
	}
	l, err := readRecord(sh, sh.Context(), readOptions{delim: delim, count: -1, raw: true, fd: fd})
	return string(l.text), err
}

// readInto assigns what was read to names, split at IFS.
func readInto(sh Shell, o readOptions, names []string, l letters) error {
	ifs, _ := sh.Expander().IFS()
	switch {
	case o.array != "":
		var list []string
		for rest := l; ; {
			word, after, ok := rest.cut(ifs, false)
			if !ok {
				break
			}
			list, rest = append(list, word), after
		}
		return sh.Vars().SetList(o.array, list)
	case len(names) == 0:
		return sh.Vars().Set("REPLY", string(l.text))
	}
	for i, name := range names {
		if base, _, _ := parse.CutSubscript(name); !parse.ValidName(base) {
			return fmt.Errorf("`%s': not a valid identifier", name)
		}
		word := string(l.text)
		if !o.exact {
			word, l, _ = l.cut(ifs, i == len(names)-1)
		} else if i > 0 {
			word = ""
		}
		if err := sh.Vars().SetNamed(name, word); err != nil {
			return err
		}
	}
	return nil
}

// cut takes a field off, by the rules of IFS; the last one is all there is without
// the white space around it. ok is false if there is none.
func (l letters) cut(ifs string, last bool) (word string, rest letters, ok bool) {
	is := func(i int) bool { return !l.quoted[i] && strings.IndexByte(ifs, l.text[i]) >= 0 }
	blank := func(i int) bool { return is(i) && strings.IndexByte(" \t\n", l.text[i]) >= 0 }
	n := len(l.text)
	start := 0
	for start < n && blank(start) {
		start++
	}
	if start == n {
		return "", letters{}, false
	}
	end := start
	for end < n && !is(end) {
		end++
	}
	next := end
	for next < n && blank(next) {
		next++
	}
	if next < n && is(next) {
		for next++; next < n && blank(next); next++ {
		}
	}
	if last && next < n {
		for end = n; end > start && blank(end-1); end-- {
		}
		next = n
	}
	return string(l.text[start:end]), letters{l.text[next:], l.quoted[next:]}, true
}
