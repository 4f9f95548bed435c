//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/sample"
)

// blow is what is being done when a process is killed.
type blow struct {
	name    string
	missing []string // parts of the cache that have to be made again
	trims   bool     // it is no server, but removes what is old
	slow    bool     // only when many are to be killed
}

var blows = []blow{
	{name: "wheels", missing: []string{"trees/wheel", "python"}},
	{name: "trim", trims: true},
	{name: "npm", missing: []string{"trees/deno-graph", "trees/deno-code", "deno/npm"}},
	{name: "code of packages", missing: []string{"trees/deno-code"}},
	{name: "trim", trims: true},
	{name: "bytecode and snapshot", missing: []string{"files/stdlib", "files/snapshot"}},
	{name: "snapshot", missing: []string{"files/snapshot"}},
	{name: "trim", trims: true},
	{name: "compile", missing: []string{"files/module", "files/machine-code", "files/snapshot"}, slow: true},
}

// hammer kills processes that work on one cache.
type hammer struct {
	set   settings
	whole time.Duration // what an undisturbed server takes to do everything

	mu     sync.Mutex
	struck map[string]int // kills by what was being done
	early  int            // processes that had ended by themselves
}

// TestHammer kills servers while they install, compile and take snapshots, and
// the command that trims the cache. Whatever a killed one left, the next one
// works, and in the end nothing is left.
//
// Row 53.
func TestHammer(t *testing.T) {
	needsServer(t)
	t.Parallel()
	blows := slices.DeleteFunc(slices.Clone(blows), func(b blow) bool { return b.slow && !sample.All })
	blows = sample.Of(t, 2, blows)
	kills, hammers := len(blows), 1
	if sample.All {
		kills, hammers = 200, 4 // on one cache
	}
	temp := t.TempDir()
	h := &hammer{set: settings{cache: emptied(t), env: []string{"TMPDIR=" + temp}}, struck: map[string]int{}}
	// How long an undisturbed one takes says where to strike.
	begun := time.Now()
	s := start(t, h.set)
	for _, a := range installs {
		if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
			t.Fatalf("%v %s", err, text)
		}
	}
	h.whole = time.Since(begun)
	s.kill(syscall.SIGKILL)
	for done := 0; done < kills; {
		var wg sync.WaitGroup
		for range hammers {
			round := make([]blow, 0, len(blows))
			for ; len(round) < len(blows) && done < kills; done++ {
				round = append(round, blows[done%len(blows)])
			}
			wg.Go(func() {
				for _, b := range round {
					h.strike(t, b)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		checkInstalls(t, h.set, fmt.Sprintf("after %d kills", done))
	}
	if h.early > 0 {
		t.Errorf("%d servers ended by themselves", h.early)
	}
	// The last server may have been ended before it had cleared up, on a busy
	// machine. More than one can have left nothing.
	for _, pattern := range []string{filepath.Join(temp, "*"), filepath.Join(h.set.cache, "processes", "*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 1 {
			t.Errorf("temporary files are left: %q", left[:min(len(left), 10)])
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(h.struck)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, h.struck[name]))
	}
	t.Logf("%d kills: %s", kills, strings.Join(parts, ", "))
}

// strike starts what the blow says and kills it at a random moment.
func (h *hammer) strike(t *testing.T, b blow) {
	for _, part := range b.missing {
		_ = os.RemoveAll(filepath.Join(h.set.cache, part))
	}
	early := false
	if b.trims {
		h.trim(t)
	} else {
		early = h.serve(t)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.struck[b.name]++
	if early {
		h.early++
	}
}

// serve starts a server that has something to make, and kills it within the time
// that all of it takes. It reports whether the server had ended before.
func (h *hammer) serve(t *testing.T) (early bool) {
	s, err := launch(t, settings{cache: h.set.cache, env: h.set.env, raw: true})
	if err != nil {
		t.Error(err)
		return false
	}
	go func() {
		if s.shakeHands() == nil {
			for _, a := range installs {
				_, _, _ = s.send("tools/call", callOf(a))
			}
		}
	}()
	wait := time.NewTimer(time.Duration(rand.Int64N(int64(h.whole))))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.ended:
		early = true
	}
	s.kill(syscall.SIGKILL)
	return early
}

// trim has packages be old, and kills the command that removes them.
func (h *hammer) trim(t *testing.T) {
	old := time.Now().Add(-100 * 24 * time.Hour)
	for _, pattern := range []string{"trees/wheel/*/manifest", "trees/deno-graph/*/manifest", "trees/deno-code/*/manifest", "files/snapshot/*", "files/stdlib/*"} {
		paths, _ := filepath.Glob(filepath.Join(h.set.cache, pattern))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Sys().(*syscall.Stat_t).Nlink == 1 { // no other cache's
				_ = os.Chtimes(path, old, old)
			}
		}
	}
	cmd := exec.Command(binary, "cache", "prune")
	cmd.Env = append(baseEnv(), "CODE_RUNNER_CACHE_DIR="+h.set.cache)
	cmd.Env = append(cmd.Env, h.set.env...)
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	wait := time.NewTimer(time.Duration(rand.Int64N(int64(80 * time.Millisecond))))
	defer wait.Stop()
	<-wait.C
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func checkInstalls(t *testing.T, set settings, when string) {
	t.Helper()
	s := start(t, set)
	for _, a := range installs {
		if o, text, err := s.run(a); err != nil || o.Status != "succeeded" {
			t.Errorf("%s: %v %s\n%s", when, err, text, clip(s.logs(), 1000))
		}
	}
	if _, err := s.stop(); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}
