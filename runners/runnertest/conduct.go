package runnertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"coderunner/runners"
)

// What follows is promised of a runner's conduct, and cannot be said of one
// program and its outcome.
var conducts = []struct {
	name string
	run  func(t *testing.T, r runners.Runner, l runners.Language)
}{
	{"cancel", testCancel},
	{"cancel_before", testCancelBefore},
	{"parallel", testParallel},
	{"progress", testProgress},
	{"bad_request", testBadRequest},
	{"tools_many", testToolsMany},
	{"tools_parallel", testToolsParallel},
	{"tools_cancelled", testToolsCancelled},
	{"tools_hostile", testToolsHostile},
	{"tools_progress", testToolsProgress},
	{"tools_clock", testToolsClock},
}

// printing is a program that prints a text and has a result.
func printing(l runners.Language, text string) string {
	switch l {
	case runners.Python:
		return fmt.Sprintf("print(%q)\n7", text)
	case runners.Bash:
		return fmt.Sprintf("echo %q", text)
	}
	return fmt.Sprintf("console.log(%q);\n7", text)
}

// endless is a program that never ends.
func endless(l runners.Language) string {
	switch l {
	case runners.Python:
		return "while True:\n    pass"
	case runners.Bash:
		return "while :; do :; done"
	}
	return "for (;;) {}"
}

// testCancel checks that cancelling stops a run at once, and the next is not hurt.
func testCancel(t *testing.T, r runners.Runner, l runners.Language) {
	// One run first, so that the time below is not that of the preparation.
	if _, err := r.Run(t.Context(), runners.Request{Language: l, Code: printing(l, "x")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled time.Time
	timer := time.AfterFunc(500*time.Millisecond, func() { cancelled = time.Now(); cancel() })
	defer timer.Stop()
	out, err := r.Run(ctx, runners.Request{Language: l, Code: endless(l), Limits: runners.Limits{Timeout: time.Minute}})
	took := time.Since(cancelled)
	if err != nil || out.Status != runners.Cancelled {
		t.Fatalf("Run = %s, %v; want cancelled", show(out), err)
	}
	if took > 15*time.Second { // it would go on for a minute
		t.Errorf("took %v to stop", took)
	}
	out, err = r.Run(t.Context(), runners.Request{Language: l, Code: printing(l, "after")})
	if err != nil || out.Stdout != "after\n" {
		t.Errorf("the next run = %s, %v", show(out), err)
	}
}

// testCancelBefore checks that a run that is cancelled before it begins does not run.
func testCancelBefore(t *testing.T, r runners.Runner, l runners.Language) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := r.Run(ctx, runners.Request{Language: l, Code: printing(l, "ran")})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
		return
	}
	if out.Status != runners.Cancelled || out.Stdout != "" {
		t.Errorf("Run = %s", show(out))
	}
}

// testParallel checks that runs at the same time do not mix, and none loses anything.
func testParallel(t *testing.T, r runners.Runner, l runners.Language) {
	const runs = 24
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			text := fmt.Sprint("run ", i)
			out, err := r.Run(t.Context(), runners.Request{
				Language: l, Code: printing(l, text), Limits: runners.Limits{Timeout: time.Minute}})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				return
			}
			if out.Stdout != text+"\n" || (out.Result == nil || out.Result.Text != "7") && l != runners.Bash {
				t.Errorf("%s: %s", text, show(out))
			}
		})
	}
	wg.Wait()
}

// testProgress checks that progress is told one call at a time, and nothing after the
// run.
func testProgress(t *testing.T, r runners.Runner, l runners.Language) {
	var mu sync.Mutex
	var ended bool
	req := runners.Request{Language: l, Code: printing(l, "x"), Progress: func(p runners.Progress) {
		if !mu.TryLock() {
			t.Errorf("two calls at once: %+v", p)
			return
		}
		defer mu.Unlock()
		if ended {
			t.Errorf("after the run: %+v", p)
		}
		if p.Phase == "" || p.Done < 0 || p.Total < 0 {
			t.Errorf("progress %+v", p)
		}
	}}
	if _, err := r.Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	ended = true
	mu.Unlock()
}

// testBadRequest checks that a request that makes no sense is a RequestError, and leaves
// nothing outside the working directory.
func testBadRequest(t *testing.T, r runners.Runner, l runners.Language) {
	for name, req := range map[string]runners.Request{
		"language":      {Language: "cobol", Code: "1"},
		"file outside":  {Language: l, Code: "1", Files: []runners.File{{Path: "../outside"}}},
		"absolute file": {Language: l, Code: "1", Files: []runners.File{{Path: "/outside"}}},
	} {
		out, err := r.Run(t.Context(), req)
		var bad *runners.RequestError
		if !errors.As(err, &bad) || bad.Message == "" {
			t.Errorf("%s: Run = %s, %v; want a RequestError", name, show(out), err)
		}
	}
}
