package archive

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
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
const errCompressed = "Cannot update compressed archives"

// append adds files behind the members of an archive, or makes one. -u leaves out those
// that are no newer than their member.
func (t *tarRun) append() {
	c := t.c
	if t.archive == "-" {
		c.Throw("Options '-Aru' are incompatible with '-f -'")
	}
	f, err := c.OpenFile(t.archive, abi.O_RDWR|abi.O_CREAT, 0o666)
	if err != nil {
		c.Throw("%s: Cannot open: %s", t.archive, command.Text(err))
	}
	defer f.Close()
	head := bufio.NewReader(c.Guarded(f))
	for _, magic := range []string{"\x1f\x8b", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd"} {
		if b, _ := head.Peek(len(magic)); string(b) == magic {
			c.Throw("%s", errCompressed)
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
			c.Throw("%s", notTar)
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
	_, err = f.Seek(end, io.SeekStart)
	c.Check(err)
	b := command.NewWriter(f)
	t.write(b)
	c.Check(b.Flush())
}

// transformed is a member's name as --transform changes it.
func (t *tarRun) transformed(name string) string {
	bare := strings.TrimSuffix(name, "/")
	slash := name[len(bare):]
	if t.rename != nil {
		bare = t.rename(bare)
	}
	return bare + slash
}
