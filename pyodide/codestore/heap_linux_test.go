package codestore

import (
	"os"
	"strings"
	"testing"
)

// TestGrowHeap looks for anonymous memory, to write, that was advised to be in huge pages.
func TestGrowHeap(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	growHeap()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var begin, mode, rest string
	for line := range strings.Lines(string(maps)) {
		words := strings.Fields(line)
		switch {
		case strings.Contains(words[0], "-"):
			begin, mode, rest = words[0], words[1], strings.Join(words[5:], "")
		case words[0] == "VmFlags:" && mode == "rw-p" && rest == "" && strings.Contains(line, " hg"):
			t.Log(begin)
			return
		}
	}
	t.Error("none of the heap is in huge pages")
}
