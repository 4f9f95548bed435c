package runners

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// MaxSmall bounds what [Session.SaveSmall] takes, of all names together, in bytes.
const MaxSmall = 256 << 10

// Saving is what is written to [Session.Save] under a name: a file once it is large. It is not
// safe for concurrent use.
type Saving struct {
	s     *Session
	name  string
	small []byte
	file  *os.File // nil while it is small
}

// smallBuffers have MaxSmall bytes each. In a worker, what each call saves would have to be
// cleared, collected and faulted in anew.
var smallBuffers = sync.Pool{New: func() any { return new([MaxSmall]byte) }}

// Recycle gives the memory of what [Session.SaveSmall] got to what is saved later.
func Recycle(data []byte) {
	if cap(data) == MaxSmall {
		smallBuffers.Put((*[MaxSmall]byte)(data[:MaxSmall]))
	}
}

// Saving begins to save under a name. The caller closes the result.
func (s *Session) Saving(name string) *Saving { return &Saving{s: s, name: name} }

// WriteAt implements [io.WriterAt].
func (w *Saving) WriteAt(b []byte, at int64) (int, error) {
	if err := w.grow(at + int64(len(b))); err != nil {
		return 0, err
	}
	if w.file != nil {
		return w.file.WriteAt(b, at)
	}
	return copy(w.small[at:], b), nil
}

// Truncate is as [os.File.Truncate].
func (w *Saving) Truncate(size int64) error {
	if err := w.grow(size); err != nil {
		return err
	}
	if w.file != nil {
		return w.file.Truncate(size)
	}
	w.small = w.small[:size]
	return nil
}

// grow has w have at least size bytes.
func (w *Saving) grow(size int64) (err error) {
	if w.file != nil {
		return nil
	}
	if w.s.SaveSmall != nil && size <= MaxSmall {
		if w.small == nil {
			w.small = smallBuffers.Get().(*[MaxSmall]byte)[:0]
		}
		if have := int64(len(w.small)); size > have {
			w.small = w.small[:size]
			clear(w.small[have:])
		}
		return nil
	}
	w.file, err = os.OpenFile(filepath.Join(w.s.Save, w.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
	if err == nil {
		_, err = w.file.Write(w.small)
	}
	Recycle(w.small)
	w.small = nil
	return err
}

// Close saves what was written, unless there is an error, which it returns.
func (w *Saving) Close(err error) error {
	if w.file != nil {
		return errors.Join(err, w.file.Close())
	}
	if err != nil {
		Recycle(w.small)
		return err
	}
	return w.s.SaveSmall(w.name, w.small)
}
