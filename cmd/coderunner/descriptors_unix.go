//go:build unix

package main

import (
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors has no process that we start inherit what whoever started us
// left open: files, sockets, pipes to others. Those that we open ourselves are
// not inherited anyway.
func keepDescriptors() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil || len(entries) == 0 {
		for fd := 3; fd < 1024; fd++ {
			syscall.CloseOnExec(fd)
		}
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
