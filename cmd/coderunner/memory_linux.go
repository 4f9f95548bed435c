package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is how much memory there is for this process and those that it
// starts, in bytes: the machine's, or less if a control group says so. 0 is
// not known.
func machineMemory() int64 {
	var total int64
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
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

// groupLimits reads the limits of memory of the control groups that
// /proc/self/cgroup names, and of those above them. In a container the
// group's own folder may be the root of what is mounted.
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
