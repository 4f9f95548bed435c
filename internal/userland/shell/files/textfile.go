package files

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"context"
	"io"
	"strings"
	"sync"
)

// TextFile returns a file that is open for reading a text.
func (fl *Files) TextFile(s string) *memfs.File {
	return fl.FS.NewFile(&hereDoc{r: strings.NewReader(s)}, abi.O_RDONLY, abi.S_IFREG|0o600)
}

// hereDoc is the stream of a here-document, whose text is the shell's.
type hereDoc struct {
	mu sync.Mutex
	r  *strings.Reader
}

func (d *hereDoc) Read(_ context.Context, p []byte, _ bool) (int, abi.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.r.Read(p)
	return n, abi.OK
}

func (d *hereDoc) Write(context.Context, []byte, bool) (int, abi.Errno) { return 0, abi.EBADF }
func (d *hereDoc) Close() abi.Errno                                     { return abi.OK }

func (d *hereDoc) SeekTo(off int64, whence int) (int64, abi.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if whence < io.SeekStart || whence > io.SeekEnd {
		return 0, abi.EINVAL
	}
	n, err := d.r.Seek(off, whence)
	if err != nil {
		return 0, abi.EINVAL
	}
	return n, abi.OK
}
