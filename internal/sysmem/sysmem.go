// Package sysmem reports how much memory the machine has, and watches how much this process
// uses.
package sysmem

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Total returns how much memory there is for this process and those that it
// starts, in bytes: the machine's, or less if a control group says so. It is 0
// where that is not known, which is everywhere but on Linux.
func Total() int64 {
	info, _ := os.ReadFile("/proc/meminfo")
	total := machine(info)
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return total
	}
	for _, limit := range groupLimits("/sys/fs/cgroup", groups) {
		if total == 0 || limit < total {
			total = limit
		}
	}
	return total
}

// machine reads the machine's memory from /proc/meminfo, where it is the first
// line: "MemTotal:       16384000 kB".
func machine(info []byte) int64 {
	line, _, _ := bytes.Cut(info, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) != 3 || fields[0] != "MemTotal:" || fields[2] != "kB" {
		return 0
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

// groupLimits reads the limits of memory of the control groups that
// /proc/self/cgroup names, and of those above them. In a container the
// group's own directory may be the root of what is mounted.
func groupLimits(root string, groups []byte) (limits []int64) {
	for line := range bytes.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) != 3 {
			continue
		}
		dir, file := root, "memory.max"
		switch fields[1] {
		case "": // version 2
		case "memory":
			dir, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for group := filepath.Join("/", fields[2]); ; group = filepath.Dir(group) {
			if b, err := os.ReadFile(filepath.Join(dir, group, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
					limits = append(limits, n)
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return limits
}
