package pyodide

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/libffi"
	"coderunner/pyodide/snapshot"
)

// Snapshot is the state, in a file, of an interpreter that has booted, perhaps
// imported modules, and not run a program yet. Restoring it costs a thousandth of
// a boot.
//
// What is recorded: the memory, the mutable globals, the sizes of the tables,
// the guest's clock. What is not, since each interpreter starts with the same:
// the files, the three standard descriptors, the working directory. A program's
// environment, arguments and random numbers are set when it begins, by
// guest/renew.py. For an interpreter that has run programs there is
// [Interp.Snapshot], which records these, too.
type Snapshot struct {
	drop   func(*Snapshot) // closes the pool's idle instances
	image  *snapshot.Image
	base   *Snapshot // what the image is a delta of, its own to close; nil: it is whole
	layer  *Snapshot // a delta between the two, likewise, or nil
	owner  owner
	mounts []Mount
	closed atomic.Bool

	reading  sync.RWMutex // held while contents is used
	contents func() ([]byte, error)
	unmap    func() error
}

// owner is the part of a snapshot that this package writes and reads.
type owner struct {
	Functions functions       `json:"functions"`
	Clock     time.Duration   `json:"clock"`
	Link      *linkState      `json:"link"`
	Env       []string        `json:"env"` // variables that were looked up
	Zone      emscripten.Zone `json:"zone"`
	Files     []memfs.Saved   `json:"files"`     // that the imports made
	Suspended *suspended      `json:"suspended"` // nil: it has run no program
	Key       string          `json:"key"`       // of the runtime, if it has

	Generators []uint32 `json:"generators,omitempty"` // see random.go

	Processors int `json:"processors,omitempty"` // that an import asked for; 0: none did
}

// Mount is a tree shown in a directory; see [Interp.Mount]. Key names its
// contents.
type Mount struct {
	Dir  string
	Tree fs.FS
	Key  string

	// Derived is what only saves time, such as bytecode: snapshots do not depend on it.
	Derived bool
}

// ErrUnfit is wrapped by [Runtime.Snapshot] for modules whose import takes too
// long or leaves more behind than memory and a few small files: output, open
// descriptors, an exception.
var ErrUnfit = errors.New("not fit for a snapshot")

// Memory returns the least Options.Memory for interpreters made of the snapshot.
func (z *Snapshot) Memory() int64 { return int64(z.image.Memory) }

// Asked reports whether an import looked up one of env's variables, since the snapshot
// was taken with none set, or a number of processors that is another here.
func (z *Snapshot) Asked(env map[string]string) bool {
	if n := z.owner.Processors; n != 0 && n != runtime.GOMAXPROCS(0) {
		return true
	}
	return len(env) > 0 && slices.ContainsFunc(z.owner.Env, func(name string) bool {
		_, ok := env[name]
		return ok || name == "*"
	})
}

// Close closes the snapshot's file. Interpreters made of it live on.
func (z *Snapshot) Close() error {
	z.closed.Store(true)
	z.drop(z)
	z.reading.Lock()
	defer z.reading.Unlock()
	var err error
	if z.unmap != nil {
		err = z.unmap()
	}
	for _, below := range []*Snapshot{z.base, z.layer} {
		if below != nil {
			err = errors.Join(err, below.Close())
		}
	}
	return errors.Join(err, z.image.Close())
}

// mapContents maps the snapshot's memory image. Its holes are zeros.
func (z *Snapshot) mapContents() ([]byte, error) {
	b, unmap, err := mapOpen(z.image.File, z.image.Base+int64(z.image.Memory))
	if err != nil {
		return nil, err
	}
	z.unmap = unmap
	return b[z.image.Base:], nil
}

// linkState is what a snapshot records of dynamic linking; nil if there was none.
type linkState struct {
	Linker *dylink.State
	FFI    libffi.State
}

// suspended is the additional part of a snapshot of an interpreter that has run
// programs.
type suspended struct {
	Files   []memfs.Saved
	Process emscripten.State
	Parked  *parked `json:",omitempty"` // its program; nil: none

	layer func() (*os.File, error) // see Interp.Snapshot
	lost  bool
}

// functions are the function objects of the guest's half that the host calls.
type functions struct {
	Run     uint32 `json:"run"`
	Analyze uint32 `json:"analyze"`
	Preload uint32 `json:"preload"`
	Exec    uint32 `json:"exec"`
}

// zoneKey returns what CPython remembers of a time zone.
func zoneKey(l *time.Location) string {
	year := time.Now().Year()
	return time.Date(year, 1, 1, 0, 0, 0, 0, l).Format("MST-0700") + time.Date(year, 7, 1, 0, 0, 0, 0, l).Format("MST-0700")
}
