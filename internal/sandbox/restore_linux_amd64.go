package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Snapshot is a zygote that [Zygote.Save] has written. The caller closes it.
type Snapshot struct {
	snapshot
	files []*os.File // those that are mapped
}

// OpenSnapshot opens the snapshot in a directory. It fails if a file that was mapped has changed.
func OpenSnapshot(dir string) (*Snapshot, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return nil, err
	}
	m := &Snapshot{}
	if err := m.decode(text); err != nil {
		return nil, fmt.Errorf("read the snapshot of a process: %w", err)
	}
	m.Files[0].Name = filepath.Join(dir, memoryName)
	for i, f := range m.Files {
		file, err := os.Open(f.Name)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.files = append(m.files, file)
		info, err := file.Stat()
		if err == nil && i > 0 && (info.Size() != f.Size || !info.ModTime().Equal(f.Time)) {
			err = fmt.Errorf("%s has changed since the snapshot of a process was made", f.Name)
		}
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// decode reads the state of a snapshot.
func (m *snapshot) decode(text []byte) error {
	if err := json.Unmarshal(text, m); err != nil {
		return err
	}
	part := func(t *thread) bool { return t == nil || len(t.Vector) == 0 }
	if len(m.Files) == 0 || len(m.Threads) == 0 || slices.ContainsFunc(m.Threads, part) || slices.Contains(m.Open, nil) {
		return errors.New("it is not complete")
	}
	if m.Keys < 0 || m.Keys > maxKeys {
		return fmt.Errorf("it has %d keys of memory", m.Keys)
	}
	return nil
}

// maxKeys is how many keys of memory a process can have.
const maxKeys = 16

// Close closes the files of the snapshot. Processes that were restored keep what they have.
func (m *Snapshot) Close() (err error) {
	for _, f := range m.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Restore is [Start] for a process that goes on where the zygote of a snapshot was stopped. The
// program that start starts is the zygote's; nothing of it runs. In the place of its open files the
// process has those of the zygote: Restore returns our ends of its pipes, in the order of Freeze.
func Restore(s Spec, m *Snapshot, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) (pipes []*os.File, err error) {
	z := &Zygote{spec: s, traces: make(chan func()), end: end, snapshot: m, threads: m.Threads, open: m.Open, pipes: m.Pipes, place: m.Place, entry: m.Entry}
	for _, p := range m.Learned {
		z.learned = append(z.learned, pages{uintptr(p[0]), uintptr(p[1])})
	}
	if err := begin(s, z, end, start); err != nil {
		for _, pipe := range z.restored {
			pipe.Close()
		}
		return nil, err
	}
	return z.restored, nil
}

// kept reports whether there is a snapshot, from which a process is restored.
func (z *Zygote) kept() bool { return z != nil && z.snapshot != nil }

// needs adds to the files that a process inherits those of its snapshot.
func (z *Zygote) needs(files []*os.File) []*os.File {
	if !z.kept() {
		return files
	}
	return slices.Concat(files, z.snapshot.files)
}

// outside keeps what calls a function on a thread that is not confined.
func (z *Zygote) outside(unconfined func(func() error) error) {
	if z != nil {
		z.unconfined = unconfined
	}
}

// restore makes of a process that stands before its first instruction the one that was saved. It has
// the snapshot's files open, from a number on.
func (z *Zygote) restore(s *stopped, first int, to reach, armed bool) error {
	z.began(s.pid, z.entry, to, armed)
	var fresh []vma
	if err := z.unconfined(func() (err error) { fresh, err = vmas(s.pid, "maps"); return err }); err != nil {
		return err
	}
	m := z.snapshot
	if err := m.fits(fresh, s.at.pc(), s.at.stack()); err != nil {
		return err
	}
	if _, err := unix.PtracePokeText(s.pid, s.at.pc(), caller); err != nil {
		return fmt.Errorf("write what makes system calls: %w", err)
	}
	b := &batch{entry: s.at.pc(), place: (s.at.stack() - maxBatch - 4<<10) &^ 15}
	b.restoreMaps(m, first)
	t := &thread{id: s.pid, At: s.at.PtraceRegs}
	if err := b.run(t); err != nil {
		return fmt.Errorf("map a snapshot: %w", err)
	}
	for i := range m.Keys {
		if b.calls[i][0] != uint64(i+1) {
			return errors.New("the keys of memory are not those of the snapshot")
		}
	}
	// Now it goes on in the memory of the snapshot.
	f := &forked{of: z, pid: s.pid, main: *z.threads[0]}
	f.main.id = s.pid
	b = z.batch()
	b.leave(m, fresh)
	if err := b.run(&f.main); err != nil {
		return fmt.Errorf("leave what was there before a snapshot: %w", err)
	}
	err := f.reopen()
	z.restored = f.pipes
	if err == nil {
		err = f.confine(false, z.spec.Supervise)
	}
	return err
}

// fits returns why the snapshot has no place beside what is mapped in a process that has not begun.
// A program that is always at one address is mapped over. The process makes its calls at pc,
// and has what they point to below stack: there only the same code may be.
func (m *Snapshot) fits(fresh []vma, pc, stack uintptr) error {
	for _, r := range fresh {
		if r.kernel() {
			if !slices.ContainsFunc(m.Kernel, func(k special) bool { return k.Name == r.name && k.At[1] == r.at[1] }) {
				return fmt.Errorf("the kernel's %s is not that of the snapshot", r.name)
			}
		}
		overlaps := func(p pages) bool { return r.at[0] < p[0]+p[1] && p[0] < r.at[0]+r.at[1] }
		there := slices.ContainsFunc(m.Maps, func(c mapped) bool { return overlaps(c.pages()) })
		if there && m.covers(r.at) && !r.at.has(stack) && (!r.at.has(pc) || pc == m.Entry) {
			there = false
		}
		if there || slices.ContainsFunc(m.Kernel, func(k special) bool { return overlaps(k.At) }) {
			return fmt.Errorf("%w: %s at %#x", ErrTaken, r.name, r.at[0])
		}
	}
	return nil
}

// covers reports whether the snapshot has something in all of a range.
func (m *Snapshot) covers(r pages) bool {
	for at := r[0]; at < r[0]+r[1]; {
		i := slices.IndexFunc(m.Maps, func(c mapped) bool { return c.pages().has(at) })
		if i < 0 {
			return false
		}
		p := m.Maps[i].pages()
		at = p[0] + p[1]
	}
	return true
}

func (p pages) has(address uintptr) bool { return address >= p[0] && address < p[0]+p[1] }

// restoreMaps adds the calls that map a snapshot, whose files are open from a number on.
func (b *batch) restoreMaps(m *Snapshot, first int) {
	for range m.Keys { // the kernel gives the lowest that is free
		b.call(unix.SYS_PKEY_ALLOC, 0, 0)
	}
	for _, c := range m.Maps {
		at, fd := c.pages(), ^uintptr(0)
		if c.File >= 0 {
			fd = uintptr(first + int(c.File))
		}
		b.call(unix.SYS_MMAP, at[0], at[1], uintptr(c.Prot), uintptr(c.Flags), fd, uintptr(c.Offset))
		if c.Key != 0 {
			b.call(unix.SYS_PKEY_MPROTECT, at[0], at[1], uintptr(c.Prot), uintptr(c.Key))
		}
		for _, advice := range c.Advice {
			if advice != unix.MADV_NORMAL {
				b.call(unix.SYS_MADVISE, at[0], at[1], uintptr(advice))
			}
		}
	}
	b.call(unix.SYS_CLOSE_RANGE, uintptr(first), uintptr(first+len(m.files)-1), 0)
}

// leave adds the calls by which a process that has mapped a snapshot loses all else, and gets what is
// not memory.
func (b *batch) leave(m *Snapshot, fresh []vma) {
	for _, r := range fresh {
		if !r.kernel() && r.name != "[vsyscall]" && !m.covers(r.at) {
			b.call(unix.SYS_MUNMAP, r.at[0], r.at[1])
		}
	}
	for _, k := range m.Kernel {
		for _, r := range fresh {
			if r.name == k.Name {
				b.call(unix.SYS_MREMAP, r.at[0], r.at[1], k.At[1], unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, k.At[0])
			}
		}
	}
	layout := packed(m.Layout)
	b.call(unix.SYS_PRCTL, unix.PR_SET_MM, unix.PR_SET_MM_MAP, b.room(layout), uintptr(len(layout)))
	for _, a := range m.Actions {
		b.call(unix.SYS_RT_SIGACTION, uintptr(a.Signal), b.room(a.Action[:]), 0, 8)
	}
	// The numbers of the zygote's files are taken, as they are in a fork.
	for _, d := range m.Open {
		for _, n := range d.Descriptors {
			if n.FD > 2 {
				b.call(unix.SYS_DUP3, 0, uintptr(n.FD), 0)
			}
		}
	}
	b.register(m.Threads[0])
}

// kernel reports whether the kernel has put it there, for every process.
func (m *vma) kernel() bool { return m.name == "[vdso]" || strings.HasPrefix(m.name, "[vvar") }
