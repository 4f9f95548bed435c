//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"coderunner/internal/sample"
)

// anonymous is what a process has written to and no file has, in kilobytes.
var anonymous = regexp.MustCompile(`RssAnon:\s+(\d+)`)

// most watches the memory of the server's workers, in bytes, until stop is called.
func (s *httpServer) most(t *testing.T) (stop func() int64) {
	var peak atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			for _, pid := range s.workers() {
				status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
				if m := anonymous.FindSubmatch(status); m != nil {
					kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
					peak.Store(max(peak.Load(), kb<<10))
				}
			}
		}
	})
	return func() int64 {
		cancel()
		watcher.Wait()
		return peak.Load()
	}
}

// TestWalls has a client run what would end or fill its server, a program each file of
// testdata/walls.txtar, while another one calls it all the time: each call of both has an
// answer, and the memory limit holds.
func TestWalls(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the runtimes")
	}
	const limit, beside = 256 << 20, 64 << 20
	s := startHTTP(t, []string{"CODE_RUNNER_OFFLINE=1", "CODE_RUNNER_MEMORY=256MiB", "CODE_RUNNER_SESSION_DIR=" + t.TempDir(),
		"CODE_RUNNER_HTTP_TOKEN=evil=token-1-of-32-random-characters!,good=token-2-of-32-random-characters!"})
	evil, good := &httpClient{url: s.url, token: "token-1-of-32-random-characters!"}, &httpClient{url: s.url, token: "token-2-of-32-random-characters!"}
	if err := errors.Join(evil.hello(t.Context()), good.hello(t.Context())); err != nil {
		t.Fatal(err)
	}
	n := &neighbour{c: good}
	for range 50 { // its usual times
		n.calls(t)
	}
	stop := n.start(t)
	defer func() {
		stop()
		t.Log(n.times())
	}()
	programs, err := txtar.ParseFile("testdata/walls.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sample.Of(t, 16, programs.Files) {
		language := map[string]string{".sh": "bash", ".py": "python"}[filepath.Ext(f.Name)]
		t.Run(f.Name, func(t *testing.T) {
			n.beside.Store(&f.Name)
			most := s.most(t)
			text, err := evil.call(t.Context(), "run_code", map[string]any{"language": language, "code": string(f.Data), "timeout_seconds": 2})
			if err != nil || text == "" || strings.Contains(text, "panic") || strings.Contains(text, "exceeded what it can do") {
				t.Errorf("%s\n%v", text, err)
			}
			peak := most()
			if peak > limit+beside {
				t.Errorf("a worker had %d MiB", peak>>20)
			}
			t.Logf("%d MiB, %.100q", peak>>20, text)
		})
	}
}

// neighbour is a client that calls all the time.
type neighbour struct {
	c      *httpClient
	beside atomic.Pointer[string] // the program that runs meanwhile, nil: none
	took   []answered
}

// answered is one of its calls.
type answered struct {
	beside *string
	took   time.Duration
}

// start begins to call, until stop is called.
func (n *neighbour) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() {
		for ctx.Err() == nil && n.calls(t) {
		}
	})
	return func() { cancel(); calling.Wait() }
}

// calls makes a call in each language and reports whether they were answered.
func (n *neighbour) calls(t *testing.T) bool {
	for language, code := range map[string]string{"python": "6 * 7", "bash": "echo $((6 * 7))"} {
		begun := time.Now()
		text, err := n.c.call(t.Context(), "run_code", map[string]any{"language": language, "code": code, "timeout_seconds": 60})
		if err != nil || !strings.Contains(text, "42") {
			t.Errorf("the neighbour: %q, %v", text, err)
			return false
		}
		n.took = append(n.took, answered{n.beside.Load(), time.Since(begun)})
	}
	return true
}

// times describes how long its calls took, alone and beside the programs.
func (n *neighbour) times() string {
	var text strings.Builder
	for what, alone := range map[string]bool{"alone": true, "beside programs": false} {
		of := slices.DeleteFunc(slices.Clone(n.took), func(a answered) bool { return (a.beside == nil) != alone })
		slices.SortFunc(of, func(a, b answered) int { return cmp.Compare(a.took, b.took) })
		if len(of) == 0 {
			continue
		}
		at := func(share float64) time.Duration {
			return of[int(share*float64(len(of)-1))].took.Round(100 * time.Microsecond)
		}
		fmt.Fprintf(&text, "the neighbour %s: %d answers, median %v, p99 %v, most %v", what, len(of), at(.5), at(.99), at(1))
		for _, a := range of[max(0, len(of)-5):] {
			if a.beside != nil {
				fmt.Fprintf(&text, ", %v beside %s", a.took.Round(time.Millisecond), *a.beside)
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}
