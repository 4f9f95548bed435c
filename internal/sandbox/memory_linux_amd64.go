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

// mapped returns what is mapped in a stopped process. It fails if forks would share memory.
func mapped(pid int) (m memory, err error) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "smaps"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	return parseMaps(f)
}

// parseMaps reads what /proc/PID/smaps says.
func parseMaps(smaps io.Reader) (m memory, err error) {
	var at pages
	file, locked := false, false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "")
		if from, to, begins := strings.Cut(words[0], "-"); begins {
			a, aerr := strconv.ParseUint(from, 16, 64)
			b, berr := strconv.ParseUint(to, 16, 64)
			if aerr != nil || berr != nil || len(words) < 6 {
				return m, fmt.Errorf("a range of memory without its bounds: %q", lines.Text())
			}
			at, file, locked = pages{uintptr(a), uintptr(b - a)}, words[4] != "0", false // 4: the inode
		}
		if words[0] == "ProtectionKey:" { // before VmFlags, where processors have keys
			locked = words[1] != "0"
		}
		if words[0] != "VmFlags:" {
			continue
		}
		has := func(flag string) bool { return slices.Contains(words, flag) }
		if has("sh") && has("wr") {
			return m, fmt.Errorf("a fork would share the memory at %#x", at[0])
		}
		if has("dc") {
			m.hidden = append(m.hidden, at)
		}
		switch {
		case has("wr") && at[1] <= maxPages && !locked:
			m.written = append(m.written, at)
		case !has("wr") && has("rd") && file:
			m.files = append(m.files, at)
		}
	}
	return m, nil
}

// Bits of an entry of /proc/PID/pagemap.
const (
	pagePresent = 1 << 63
	pageOfFile  = 1 << 61
	pageOnlyOne = 1 << 56 // nobody else has it mapped
)

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
			entries[i] = make([]byte, r[1]/page*8)
			if _, err := f.ReadAt(entries[i], int64(r[0]/page*8)); err != nil {
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
