//go:build linux

package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// limitCase is a program that meets a limit, and what the answer must say.
type limitCase struct {
	limit, lang, code string
	timeout           float64
	status            string
	says              []string // of the text that a model is shown
	stdout            string   // what it has printed before
	least             string   // the part of the usage that is no zero
}

var limitCases = []limitCase{
	{limit: "time", lang: python, code: "print('before')\nwhile True: pass", timeout: 3, status: "timed_out",
		says: []string{"timed out after 3 s", "timeout_seconds", "at most 3600"}, stdout: "before\n", least: "cpu_ms"},
	{limit: "time", lang: javascript, code: "console.log('before'); for (;;);", timeout: 3, status: "timed_out",
		says: []string{"timed out after 3 s", "timeout_seconds", "at most 3600"}, stdout: "before\n", least: "cpu_ms"},
	{limit: "memory", lang: python, code: "print('before')\na = []\nwhile True: a.append(bytearray(1 << 20))", timeout: 60, status: "out_of_memory",
		says: []string{"out of memory", "256 MiB", "CODE_RUNNER_MEMORY"}, stdout: "before\n", least: "peak_memory_bytes"},
	{limit: "memory", lang: javascript, code: "console.log('before'); const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", timeout: 60, status: "out_of_memory",
		says: []string{"out of memory", "256 MiB", "CODE_RUNNER_MEMORY"}, stdout: "before\n", least: "peak_memory_bytes"},
	{limit: "workers", lang: javascript, code: "for (let i = 0; i < 200; i++) new Worker('data:text/javascript,onmessage = () => {}', { type: 'module' }); await new Promise(() => {})", timeout: 60, status: "out_of_memory",
		says: []string{"256 MiB", "CODE_RUNNER_MEMORY"}, least: "peak_memory_bytes"},
	{limit: "output", lang: python, code: "print('before')\nwhile True: print('x' * 999)", timeout: 60, status: "output_limit",
		says: []string{"more than 20000 bytes", "CODE_RUNNER_MAX_OUTPUT", "bytes cut"}, stdout: "before\nxxx"},
	{limit: "output", lang: javascript, code: "console.log('before'); for (;;) console.log('x'.repeat(999))", timeout: 60, status: "output_limit",
		says: []string{"more than 20000 bytes", "CODE_RUNNER_MAX_OUTPUT", "bytes cut"}, stdout: "before\nxxx"},
	{limit: "output, not much", lang: python, code: "print('before')\nprint('x' * 5000)\n'after'", timeout: 60, status: "succeeded",
		says: []string{"bytes cut; all: runner://", "after"}, stdout: "before\nxxx"},
	{limit: "output, not much", lang: javascript, code: "console.log('before'); console.log('x'.repeat(5000)); 'after'", timeout: 60, status: "succeeded",
		says: []string{"bytes cut; all: runner://", "after"}, stdout: "before\nxxx"},
	{limit: "bytes in files", lang: python, code: "print('before')\nwith open('f', 'wb') as f:\n    while True: f.write(bytes(1 << 20))", timeout: 60, status: "failed",
		says: []string{"No space left on device", "256 MiB", "CODE_RUNNER_MEMORY"}, stdout: "before\n", least: "peak_memory_bytes"},
	{limit: "number of files", lang: javascript, code: "console.log('before'); for (let i = 0; ; i++) Deno.mkdirSync('d' + i)", timeout: 300, status: "output_limit",
		says: []string{"1024 MiB", "20000 files", "these limits are fixed"}, stdout: "before\n", least: "run_ms"},
}

// usageKeys are what every answer tells of a run.
var usageKeys = []string{"queue_ms", "prepare_ms", "run_ms", "cpu_ms", "peak_memory_bytes"}

// TestLimits has programs of both languages meet each limit: the answer says
// which it was, how much it is and how to raise it, and has what the program
// had printed, and what it took.
func TestLimits(t *testing.T) {
	needsServer(t)
	t.Parallel()
	s := start(t, settings{env: []string{"CODE_RUNNER_MAX_OUTPUT=1000", "CODE_RUNNER_CONCURRENCY=1"}})
	for _, c := range limitCases {
		t.Run(c.limit+" "+c.lang, func(t *testing.T) {
			o, text, usage, err := s.runForUsage(arguments{Language: c.lang, Code: c.code, Timeout: c.timeout})
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if o.Status != c.status {
				t.Errorf("status %s, want %s", o.Status, c.status)
			}
			for _, says := range c.says {
				if !strings.Contains(text, says) {
					t.Errorf("it does not say %q: %s", says, clip(text, 800))
				}
			}
			if !strings.HasPrefix(o.Stdout, c.stdout) || c.stdout != "" && !strings.Contains(text, "before") {
				t.Errorf("what it printed is not there: %q, %s", clip(o.Stdout, 100), clip(text, 300))
			}
			if c.least != "" && usage[c.least] <= 0 {
				t.Errorf("%s is %d", c.least, usage[c.least])
			}
		})
	}
	t.Run("queue", func(t *testing.T) {
		var waited atomic.Int64
		var both sync.WaitGroup
		for lang, code := range busy { // whichever comes second waits for the first
			both.Go(func() {
				_, text, usage, err := s.runForUsage(arguments{Language: lang, Code: code, Timeout: 3})
				if err != nil {
					t.Errorf("%v: %s", err, text)
				}
				waited.Add(usage["queue_ms"])
			})
		}
		both.Wait()
		// On a busy machine the second may come a while after the first.
		if waited.Load() < 1000 {
			t.Errorf("two programs of three seconds, one place: queue_ms is %d", waited.Load())
		}
	})
}

// runForUsage runs a program and reads all of the usage, as it is sent.
func (s *server) runForUsage(a arguments) (o *outcome, text string, usage map[string]int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), runFor+time.Duration(a.Timeout*float64(time.Second)))
	defer cancel()
	m, err := s.request(ctx, "tools/call", callOf(a))
	if err != nil {
		return nil, "", nil, err
	}
	if o, text, err = decode(m); err != nil {
		return nil, text, nil, err
	}
	var r struct {
		Meta struct {
			Usage map[string]int64 `json:"coderunner/usage"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return nil, text, nil, err
	}
	for _, key := range usageKeys {
		if _, ok := r.Meta.Usage[key]; !ok {
			err = errors.Join(err, fmt.Errorf("the usage has no %s: %v", key, r.Meta.Usage))
		}
	}
	return o, text, r.Meta.Usage, err
}
