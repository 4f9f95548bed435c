package archive

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// current reports whether -u leaves a file out.
func (t *tarRun) current(h *tar.Header) bool {
	at, ok := t.members[h.Name]
	return ok && !h.ModTime.After(at)
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// blockSize is what a member's header and contents are multiples of.
const blockSize = 512

// errCompressed is GNU's answer to a change of a compressed archive.
var errCompressed = errors.New("Cannot update compressed archives") //nolint:staticcheck // GNU's words

// append adds files behind the members of an archive, or makes one. -u leaves out those
// that are no newer than their member.
func (t *tarRun) append() error {
	c := t.c
	if t.archive == "-" {
		return errors.New("Options '-Aru' are incompatible with '-f -'") //nolint:staticcheck // GNU's words
	}
	f, err := c.OpenFile(t.archive, abi.O_RDWR|abi.O_CREAT, 0o666)
	if err != nil {
		return fmt.Errorf("%s: Cannot open: %s", t.archive, command.Text(err))
	}
	defer f.Close()
	head := bufio.NewReader(c.Guarded(f))
	for _, magic := range []string{"\x1f\x8b", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"} {
		if b, _ := head.Peek(len(magic)); string(b) == magic {
			return errCompressed
		}
	}
	in := &counted{r: head}
	end := int64(0)
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("This does not look like a tar archive") //nolint:staticcheck // likewise
		}
		if t.mode == "u" {
			t.members[h.Name] = h.ModTime
		}
		size := h.Size
		if h.Typeflag != tar.TypeReg {
			size = 0
		}
		end = in.n + (size+blockSize-1)/blockSize*blockSize
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return err
	}
	b := command.NewWriter(f)
	if err := t.write(b); err != nil {
		return err
	}
	return b.Flush()
}

// substitution is --transform: s/regular expression/replacement/ and flags, as sed has it.
type substitution struct {
	expr regex.Pattern
	with string
	all  bool
	nth  int // the first match that is replaced, from 1
}

// substitutions reads the expressions of --transform.
func substitutions(text string, limits regex.Limits) (list []substitution, err error) {
	for text != "" {
		if len(text) < 2 || text[0] != 's' {
			return nil, errors.New("Invalid transform expression") //nolint:staticcheck // GNU's words
		}
		delimiter := text[1]
		source, rest, ok := cutAt(text[2:], delimiter)
		with, flags, closed := cutAt(rest, delimiter)
		if !ok || !closed {
			return nil, errors.New("Invalid transform expression") //nolint:staticcheck // likewise
		}
		flags, text, _ = strings.Cut(flags, ";")
		s := substitution{with: with, nth: 1}
		d := regex.Dialect{Limits: limits}
		for _, f := range flags {
			switch {
			case f == 'g':
				s.all = true
			case f == 'i':
				d.Fold = true
			case f == 'x':
				d.Extended = true
			case f >= '1' && f <= '9':
				s.nth, _ = strconv.Atoi(string(f))
			case !strings.ContainsRune("rRsShH", f): // which kinds of names it is for
				return nil, fmt.Errorf("Unknown flag in transform expression: %c", f) //nolint:staticcheck // likewise
			}
		}
		if s.expr, err = d.Compile(source); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// cutAt cuts a text at a delimiter that no backslash stands before.
func cutAt(s string, delimiter byte) (before, after string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return strings.ReplaceAll(s[:i], `\`+string(delimiter), string(delimiter)), s[i+1:], true
		}
	}
	return s, "", false
}

func (s *substitution) apply(name string) string {
	var b strings.Builder
	end := 0
	for i, m := range s.expr.FindAllSubmatchIndex([]byte(name), -1) {
		if i+1 < s.nth || i+1 > s.nth && !s.all {
			continue
		}
		b.WriteString(name[end:m[0]])
		for k := 0; k < len(s.with); k++ {
			group := -1
			switch ch := s.with[k]; {
			case ch == '&':
				group = 0
			case ch == '\\' && k+1 < len(s.with):
				k++
				if d := s.with[k]; d >= '0' && d <= '9' {
					group = int(d - '0')
				} else {
					b.WriteByte(d)
				}
			default:
				b.WriteByte(ch)
			}
			if group >= 0 && 2*group+1 < len(m) && m[2*group] >= 0 {
				b.WriteString(name[m[2*group]:m[2*group+1]])
			}
		}
		end = m[1]
	}
	return b.String() + name[end:]
}

// transformed is a member's name as --transform changes it.
func (t *tarRun) transformed(name string) string {
	bare := strings.TrimSuffix(name, "/")
	slash := name[len(bare):]
	for i := range t.transform {
		bare = t.transform[i].apply(bare)
	}
	return bare + slash
}
