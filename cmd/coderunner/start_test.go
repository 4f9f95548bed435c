package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// What packages may allocate before main, in bytes: one of ours, all of ours, and all
// that are linked.
const (
	mostOfOne  = 50 << 10
	mostOfOurs = 400 << 10
	mostOfAll  = 2 << 20
)

// A start costs nothing that the command does not use: see package lazyregexp.
func TestNothingIsMadeBeforeMain(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "coderunner")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(binary, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "CODE_RUNNER_CACHE_DIR="+t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	info, _ := debug.ReadBuildInfo()
	ourPath := info.Main.Path + "/"
	line := regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs$`)
	var ours, all int
	for _, m := range line.FindAllStringSubmatch(stderr.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		all += n
		if m[1] != "main" && !strings.HasPrefix(m[1], ourPath) {
			continue
		}
		if ours += n; n > mostOfOne {
			t.Errorf("%s allocates %d bytes before main, more than %d", m[1], n, mostOfOne)
		}
	}
	if ours == 0 {
		t.Fatalf("no package of ours in the trace:\n%s", stderr.String())
	}
	if ours > mostOfOurs || all > mostOfAll {
		t.Errorf("before main our packages allocate %d bytes, all together %d; they may %d and %d\n%s", ours, all, mostOfOurs, mostOfAll, stderr.String())
	}
}
