// Package trace records what a process spends its time on, and writes it in the format of
// Chrome's trace viewer, which chrome://tracing and Perfetto show.
//
// The spans are for people who ask why a run is slow: some twenty of one run, each of
// which takes a tenth of a millisecond at least. Without a trace, Begin costs nothing.
package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coderunner/internal/order"
)

// began is when this package was initialised, which is among the first that are.
var began = time.Now()

// maxSpans bounds the trace of a server.
const maxSpans = 100_000

// recording is the trace of this process.
type recording struct {
	file  *os.File
	mu    sync.Mutex
	spans []span
}

type span struct {
	name       string
	begin, end time.Duration // since began
}

var current atomic.Pointer[recording]

// Start begins the trace of this process, which Stop writes to a file.
func Start(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a trace: %w", err)
	}
	t := &recording{file: f}
	t.add("initialise packages, read the command line", 0)
	current.Store(t)
	return nil
}

// Begin begins a span, which the function that it returns ends. It may be called
// concurrently.
func Begin(name string) (end func()) {
	t := current.Load()
	if t == nil {
		return nothing
	}
	begin := time.Since(began)
	return func() { t.add(name, begin) }
}

func nothing() {}

func (t *recording) add(name string, begin time.Duration) {
	end := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spans) < maxSpans {
		t.spans = append(t.spans, span{name, begin, end})
	}
}

// event is a complete event, its times in microseconds.
//
// See https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
type event struct {
	Name  string  `json:"name"`
	Phase string  `json:"ph"`
	Time  float64 `json:"ts"`
	Took  float64 `json:"dur"`
	PID   int     `json:"pid"`
	Lane  int     `json:"tid"`
}

// Stop writes the trace, if one was started.
func Stop() error {
	t := current.Swap(nil)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, span{"the process", 0, time.Since(began)})
	err := json.NewEncoder(t.file).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": events(t.spans)})
	if err = errors.Join(err, t.file.Close()); err != nil {
		return fmt.Errorf("write a trace: %w", err)
	}
	return nil
}

// events gives each span the first lane in which it lies within the spans around it: a
// viewer shows spans of one lane above one another.
func events(spans []span) (list []event) {
	order.Stably(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end)) })
	var lanes [][]time.Duration // the ends of the spans that are open, the innermost last
	for _, s := range spans {
		for i, open := range lanes {
			for len(open) > 0 && open[len(open)-1] <= s.begin {
				open = open[:len(open)-1]
			}
			lanes[i] = open
		}
		at := slices.IndexFunc(lanes, func(open []time.Duration) bool { return len(open) == 0 || s.end <= open[len(open)-1] })
		if at < 0 {
			at, lanes = len(lanes), append(lanes, nil)
		}
		lanes[at] = append(lanes[at], s.end)
		list = append(list, event{s.name, "X", micro(s.begin), micro(s.end - s.begin), os.Getpid(), at + 1})
	}
	return list
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
