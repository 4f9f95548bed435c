package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The files of a snapshot in its directory.
const (
	stateName  = "state.json"
	memoryName = "memory"
)

// snapshot is what is kept of a stopped zygote beside its memory, which is a file with holes where
// it is zero.
type snapshot struct {
	Files   []mappedFile // the first is the memory
	Maps    list[mapped] // in the order in which they are made
	Kernel  []special
	Layout  layout
	Actions []action // on signals
	Threads []*thread
	Open    []*description
	Pipes   int
	Place   uintptr         // Zygote.place
	Entry   uintptr         // Zygote.entry
	Keys    int             // how many keys lock memory
	Learned list[[2]uint64] // Zygote.learned
}

// mappedFile is a file that is mapped, as it was.
type mappedFile struct {
	Name string
	Size int64
	Time time.Time // of its last change
}

// mapped is a call of mmap, and what follows it.
type mapped struct {
	At     [2]uint64 // as pages
	Offset int64
	Prot   int32
	Flags  int32
	File   int32 // -1: none
	Key    int32
	Advice [2]int32
}

func (c *mapped) pages() pages { return pages{uintptr(c.At[0]), uintptr(c.At[1])} }

// list is a slice of values of a fixed size that are bytes in JSON: hundreds of them as text
// would take 0.5 ms to read.
type list[T any] []T

func (l list[T]) MarshalJSON() ([]byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, []T(l))
	if err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

func (l *list[T]) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*l = make([]T, len(b)/binary.Size(*new(T)))
	_, err := binary.Decode(b, binary.LittleEndian, []T(*l))
	return err
}

// special is memory of the kernel's: its functions and their data.
type special struct {
	Name string
	At   pages
}

// layout is struct prctl_mm_map: where the kernel believes the parts of a program to be.
type layout struct {
	StartCode, EndCode, StartData, EndData, StartBrk, Brk, StartStack uint64
	ArgStart, ArgEnd, EnvStart, EnvEnd                                uint64
	Auxv                                                              uint64
	AuxvSize, Exe                                                     uint32
}

// action is what the kernel does about a signal (struct sigaction of the kernel).
type action struct {
	Signal int
	Action [32]byte
}

const (
	// maxGap is how many pages that are not a process's own may be among those that are kept
	// together.
	maxGap = 32
	// moreStack is by how much the stack can grow at once, in bytes.
	moreStack = 128 << 10
)

// Save writes a stopped zygote into a directory, for [Restore].
func (z *Zygote) Save(dir string) error {
	memory, err := os.OpenFile(filepath.Join(dir, memoryName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer memory.Close()
	m := &snapshot{Threads: z.threads, Open: z.open, Pipes: z.pipes, Place: z.place, Entry: z.entry}
	for _, p := range z.learned {
		m.Learned = append(m.Learned, [2]uint64{uint64(p[0]), uint64(p[1])})
	}
	all, err := vmas(z.pid, "smaps")
	if err == nil {
		err = z.trace(func() error { return m.ask(z) })
	}
	if err == nil {
		err = m.readLayout(z.pid)
	}
	if err == nil {
		err = m.save(z.pid, all, memory)
	}
	if err != nil {
		return fmt.Errorf("keep process %d: %w", z.pid, err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, stateName), text, 0o600), memory.Close())
}

// ask asks the stopped zygote for what only it knows.
func (m *snapshot) ask(z *Zygote) error {
	b, size := z.batch(), len(action{}.Action)
	asked := b.place
	for s := 1; s <= 64; s++ {
		if s != int(unix.SIGKILL) && s != int(unix.SIGSTOP) {
			m.Actions = append(m.Actions, action{Signal: s})
			b.call(unix.SYS_RT_SIGACTION, uintptr(s), 0, b.room(make([]byte, size)), 8)
		}
	}
	b.call(unix.SYS_BRK, 0)
	if err := b.run(z.threads[0]); err != nil {
		return err
	}
	m.Layout.Brk = b.calls[len(b.calls)-1][0]
	found, err := readMemory(z.pid, asked, size*len(m.Actions))
	if err != nil {
		return err
	}
	for i := range m.Actions {
		copy(m.Actions[i].Action[:], found[i*size:])
	}
	m.Actions = slices.DeleteFunc(m.Actions, func(a action) bool { return a.Action == [32]byte{} })
	return nil
}

// readLayout reads where the parts of the program are.
func (m *snapshot) readLayout(pid int) error {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	words := strings.Fields(rest) // from the third on
	if len(words) < 50 {
		return fmt.Errorf("its state is %q", text)
	}
	l := &m.Layout
	l.Exe = ^uint32(0) // as it is
	for at, to := range map[int]*uint64{
		26: &l.StartCode, 27: &l.EndCode, 28: &l.StartStack, 45: &l.StartData, 46: &l.EndData, 47: &l.StartBrk,
		48: &l.ArgStart, 49: &l.ArgEnd, 50: &l.EnvStart, 51: &l.EnvEnd,
	} {
		if *to, err = strconv.ParseUint(words[at-3], 10, 64); err != nil {
			return fmt.Errorf("its state is %q: %w", text, err)
		}
	}
	return nil
}

// save keeps what is mapped, and writes the memory.
func (m *snapshot) save(pid int, all []vma, to *os.File) error {
	var from [2]*os.File
	for i, name := range []string{"mem", "pagemap"} {
		var err error
		if from[i], err = os.Open(filepath.Join("/proc", strconv.Itoa(pid), name)); err != nil {
			return err
		}
		defer from[i].Close()
	}
	m.Files = []mappedFile{{}}
	var size int64
	for _, r := range all {
		switch {
		case r.name == "[vsyscall]":
			continue
		case r.kernel():
			m.Kernel = append(m.Kernel, special{r.name, r.at})
			continue
		case strings.HasSuffix(r.access, "s"), r.has("lo"), r.has("ht"), r.has("um"), r.has("uw"), r.has("ss"):
			return fmt.Errorf("memory of a kind that cannot be kept is at %#x (%s)", r.at[0], r.name)
		}
		if err := m.mapping(r); err != nil {
			return err
		}
		if !r.own || r.has("wf") { // empty in forks
			continue
		}
		runs, err := ownPages(from[1], r.at)
		if err != nil {
			return err
		}
		for _, run := range runs {
			last := m.Maps[len(m.Maps)-1]
			if last.pages() == run {
				m.Maps = m.Maps[:len(m.Maps)-1] // nothing of it would be left
			}
			last.At, last.File, last.Offset = [2]uint64{uint64(run[0]), uint64(run[1])}, 0, size
			last.Flags &^= unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN
			if err := copyPages(to, size, from[0], run); err != nil {
				return err
			}
			m.Maps = append(m.Maps, last)
			size += int64(run[1])
		}
	}
	return to.Truncate(size)
}

// mapping adds the call that makes a mapping.
func (m *snapshot) mapping(r vma) error {
	c := mapped{At: [2]uint64{uint64(r.at[0]), uint64(r.at[1])}, Flags: unix.MAP_PRIVATE | unix.MAP_FIXED, File: -1, Key: int32(r.key)}
	for i, prot := range []int32{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if r.access[i] != '-' {
			c.Prot |= prot
		}
	}
	m.Keys = max(m.Keys, r.key)
	switch { // 0, of no effect, is MADV_NORMAL
	case r.has("hg"):
		c.Advice[0] = unix.MADV_HUGEPAGE
	case r.has("nh"):
		c.Advice[0] = unix.MADV_NOHUGEPAGE
	}
	if r.has("wf") {
		c.Advice[1] = unix.MADV_WIPEONFORK
	}
	if r.has("nr") {
		c.Flags |= unix.MAP_NORESERVE
	}
	if r.file {
		info, err := os.Stat(r.name)
		if err != nil {
			return fmt.Errorf("look at what is mapped: %w", err)
		}
		f := mappedFile{r.name, info.Size(), info.ModTime()}
		at := slices.Index(m.Files, f)
		if at < 0 {
			at = len(m.Files)
			m.Files = append(m.Files, f)
		}
		c.File, c.Offset = int32(at), r.offset
	} else {
		c.Flags |= unix.MAP_ANONYMOUS
	}
	if r.has("gd") {
		c.Flags |= unix.MAP_GROWSDOWN
		c.At[0] -= moreStack
		c.At[1] += moreStack
	}
	m.Maps = append(m.Maps, c)
	return nil
}

// ownPages returns the runs of pages that are the process's own.
func ownPages(f *os.File, r pages) (runs []pages, err error) {
	page := uintptr(os.Getpagesize())
	entries, err := pagemap(f, r)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(entries); i += 8 {
		entry := binary.LittleEndian.Uint64(entries[i:])
		if entry&(pagePresent|pageSwapped) == 0 || entry&pageOfFile != 0 {
			continue
		}
		at := r[0] + uintptr(i/8)*page
		if n := len(runs); n > 0 && at-runs[n-1][0]-runs[n-1][1] <= maxGap*page {
			runs[n-1][1] = at + page - runs[n-1][0]
		} else {
			runs = append(runs, pages{at, page})
		}
	}
	return runs, nil
}

// copyPages copies pages of a process into a file, but for those that are zero.
func copyPages(to *os.File, offset int64, mem *os.File, run pages) error {
	page := os.Getpagesize()
	all, zero := make([]byte, run[1]), string(make([]byte, page))
	if _, err := mem.ReadAt(all, int64(run[0])); err != nil {
		return fmt.Errorf("read the memory of a process: %w", err)
	}
	for at := 0; at < len(all); at += page {
		if p := all[at : at+page]; string(p) != zero {
			if _, err := to.WriteAt(p, offset+int64(at)); err != nil {
				return err
			}
		}
	}
	return nil
}
