package sandbox

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pages are a range of memory: its address and its size in bytes.
type pages [2]uintptr

// memory is what is mapped in a zygote.
type memory struct {
	hidden  []pages // from forks, by MADV_DONTFORK, which V8 sets for its heap
	written []pages // what it may write, and has for itself; without what V8 locks by a key (pkeys(7))
	files   []pages // what it only reads of files
}

// maxPages bounds a range that a fork may have written parts of: V8 reserves larger ones.
const maxPages = 256 << 20

// vma is one range of a process's memory.
type vma struct {
	at     pages
	access string   // as "rw-p"
	offset int64    // in the file
	name   string   // of the file, or what the kernel calls it
	file   bool     // it is one
	own    bool     // it has pages that are the process's own
	key    int      // by which it is locked (pkeys(7))
	flags  []string // VmFlags
}

func (m *vma) has(flag string) bool { return slices.Contains(m.flags, flag) }

// vmas returns what is mapped in a process, by its maps, or smaps, which has all.
func vmas(pid int, name string) ([]vma, error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(f)
}

// parseMaps reads what /proc/PID/smaps says.
func parseMaps(smaps io.Reader) (all []vma, err error) {
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "")
		if from, to, begins := strings.Cut(words[0], "-"); begins {
			a, aerr := strconv.ParseUint(from, 16, 64)
			b, berr := strconv.ParseUint(to, 16, 64)
			if aerr != nil || berr != nil || len(words) < 6 || b < a || len(words[1]) != 4 {
				return nil, fmt.Errorf("a range of memory without its bounds: %q", lines.Text())
			}
			m := vma{at: pages{uintptr(a), uintptr(b - a)}, access: words[1], file: words[4] != "0"} // 4: the inode
			if m.offset, err = strconv.ParseInt(words[2], 16, 64); err != nil {
				return nil, fmt.Errorf("a range of memory without its place: %q", lines.Text())
			}
			if len(words) > 6 {
				_, name, _ := strings.Cut(lines.Text(), " "+words[4]+" ")
				m.name = strings.TrimLeft(name, " ")
			}
			all = append(all, m)
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%q before any range of memory", lines.Text())
		}
		switch m := &all[len(all)-1]; words[0] {
		case "Anonymous:", "Swap:":
			m.own = m.own || words[1] != "0"
		case "ProtectionKey:": // where processors have keys
			m.key, err = strconv.Atoi(words[1])
		case "VmFlags:":
			m.flags = words[1:]
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
	}
	return all, nil
}

// forForks returns what of the mappings matters to forks. It fails if they would share memory.
func forForks(all []vma) (m memory, err error) {
	for _, r := range all {
		if r.has("sh") && r.has("wr") {
			return m, fmt.Errorf("a fork would share the memory at %#x", r.at[0])
		}
		if r.has("dc") {
			m.hidden = append(m.hidden, r.at)
		}
		switch {
		case r.has("wr") && r.at[1] <= maxPages && r.key == 0:
			m.written = append(m.written, r.at)
		case !r.has("wr") && r.has("rd") && r.file:
			m.files = append(m.files, r.at)
		}
	}
	return m, nil
}

// Bits of an entry of /proc/PID/pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
	pageOnlyOne = 1 << 56 // nobody else has it mapped
)

// pagemap reads the entries of a range, eight bytes a page, from /proc/PID/pagemap.
func pagemap(f *os.File, r pages) ([]byte, error) {
	page := uintptr(os.Getpagesize())
	entries := make([]byte, r[1]/page*8)
	_, err := f.ReadAt(entries, int64(r[0]/page*8))
	return entries, err
}

// maxLearned bounds the ranges that learn returns.
const maxLearned = 256

// learn returns the pages among the zygote's own that a fork has written, and has copies of.
func learn(zygote, fork int, written []pages) (learned []pages, err error) {
	var maps [2]*os.File
	for i, pid := range []int{zygote, fork} {
		if maps[i], err = os.Open(filepath.Join("/proc", strconv.Itoa(pid), "pagemap")); err != nil {
			return nil, err
		}
		defer maps[i].Close()
	}
	page := uintptr(os.Getpagesize())
	for _, r := range written {
		var entries [2][]byte
		for i, f := range maps {
			if entries[i], err = pagemap(f, r); err != nil {
				return nil, err
			}
		}
		for i := 0; i < len(entries[0]); i += 8 {
			had, has := binary.LittleEndian.Uint64(entries[0][i:]), binary.LittleEndian.Uint64(entries[1][i:])
			if had&(pagePresent|pageOfFile) != pagePresent || has&(pagePresent|pageOfFile|pageOnlyOne) != pagePresent|pageOnlyOne {
				continue
			}
			at := r[0] + uintptr(i/8)*page
			if n := len(learned); n > 0 && learned[n-1][0]+learned[n-1][1] == at {
				learned[n-1][1] += page
			} else if n < maxLearned {
				learned = append(learned, pages{at, page})
			}
		}
	}
	return learned, nil
}
