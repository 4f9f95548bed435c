package wheel

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// inflaters keeps what inflating one of many small files allocates, *inflater.
var inflaters sync.Pool

type inflater struct {
	deflated io.ReadCloser
	buffer   []byte
}

// inflate inflates an entry. It never writes more than the entry claims, nor more
// than limit.
func (a *archive) inflate(out io.Writer, e *entry, limit int64) error {
	if e.size > limit {
		return fmt.Errorf("its file %q is too large", e.name)
	}
	in, err := e.OpenRaw()
	if err != nil {
		return fmt.Errorf("its file %q cannot be unpacked: %v", e.name, err)
	}
	u, _ := inflaters.Get().(*inflater)
	if u == nil {
		u = &inflater{deflated: flate.NewReader(in), buffer: make([]byte, 32<<10)}
	}
	defer inflaters.Put(u)
	if e.Method == zip.Deflate {
		if err := u.deflated.(flate.Resetter).Reset(in, nil); err != nil {
			return err
		}
		in = u.deflated
	}
	crc := crc32.NewIEEE()
	guarded := writeGuard{io.MultiWriter(crc, out)}
	n, err := io.CopyBuffer(guarded, io.LimitReader(in, e.size), u.buffer)
	if err != nil {
		if _, ours := errors.AsType[writeError](err); ours {
			return err
		}
		return fmt.Errorf("its file %q cannot be unpacked: %v", e.name, err)
	}
	if n < e.size {
		return fmt.Errorf("its file %q is shorter than it claims", e.name)
	}
	var more [1]byte
	if k, err := io.ReadFull(in, more[:]); k != 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("its file %q is longer than it claims", e.name)
	}
	if crc.Sum32() != e.CRC32 {
		return fmt.Errorf("its file %q has a wrong checksum", e.name)
	}
	return nil
}

// writeError marks an error of the target, which is not the wheel's fault.
type writeError struct{ error }

// writeGuard distinguishes errors of writing from errors of reading.
type writeGuard struct{ w io.Writer }

func (g writeGuard) Write(p []byte) (int, error) {
	n, err := g.w.Write(p)
	if err != nil {
		return n, writeError{err}
	}
	return n, nil
}
