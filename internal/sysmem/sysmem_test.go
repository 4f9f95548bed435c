package sysmem

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestGroupLimits(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/memory.max": "max\n", "a/b/memory.max": "1000000\n", "a/b/c/memory.max": "no number",
		"memory/x/memory.limit_in_bytes": "3000000\n", "memory/memory.limit_in_bytes": "9223372036854771712\n",
		"pids/x/memory.max": "5",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := groupLimits(root, []byte("8:pids:/x\n4:memory:/x\nnonsense\n0::/a/b/c\n1:memory:/../../..\n"))
	slices.Sort(got)
	if want := []int64{1000000, 3000000, 9223372036854771712, 9223372036854771712}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMachine(t *testing.T) {
	for info, want := range map[string]int64{
		"MemTotal:       16384000 kB\nMemFree: 1 kB\n": 16384000 << 10,
		"": 0, "MemTotal: x kB\n": 0, "MemFree: 1 kB\n": 0, "MemTotal: -5 kB": 0,
	} {
		if got := machine([]byte(info)); got != want {
			t.Errorf("machine(%q) = %d, want %d", info, got, want)
		}
	}
	if total := Total(); runtime.GOOS == "linux" && total < 1<<20 {
		t.Errorf("this machine has %d bytes", total)
	}
}
