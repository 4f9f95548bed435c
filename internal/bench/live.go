package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"coderunner/pyodide"
)

// How many interpreters are alive at once: ours, and eryx's.
const (
	liveOurs = 500
	liveEryx = 50
)

// liveCases are interpreters that are alive at the same time, and what each of
// them takes in memory that is shared with no other.
func liveCases(h *hosts) []benchCase {
	return []benchCase{{
		topic: "live", name: "memory", atMost: 1,
		title: "private memory of one of many live interpreters",
		contenders: []contender{
			h.alive(fmt.Sprintf("package pyodide, %d restored", liveOurs), func(ctx context.Context, rt *pyodide.Runtime) (*pyodide.Interp, error) {
				return rt.New(ctx, pyodide.Options{Stdout: io.Discard})
			}),
			h.alive(fmt.Sprintf("package pyodide, %d after a run", liveOurs), func(ctx context.Context, rt *pyodide.Runtime) (*pyodide.Interp, error) {
				return runFresh(ctx, rt, pyodide.Options{Stdout: io.Discard}, printTwo)
			}),
			h.eryxAlive(),
			h.oneProcess(nameDeno+", one process", func() command { return h.onDeno("memory") }, h.denoErr),
			h.oneProcess(nameNode+", one process", func() command { return h.onNode("memory") }, h.nodeErr),
		},
	}}
}

// alive keeps liveOurs interpreters of one runtime.
func (h *hosts) alive(name string, make func(context.Context, *pyodide.Runtime) (*pyodide.Interp, error)) contender {
	return contender{name: name, role: ours, open: func(ctx context.Context) (*opened, error) {
		rt, err := h.openPackage(ctx, 0)
		if err != nil {
			return nil, err
		}
		return &opened{close: func() { _ = rt.Close() }, sample: func(ctx context.Context) (s sample, err error) {
			one, err := make(ctx, rt) // what all share is there from now on
			live := []*pyodide.Interp{one}
			defer func() {
				for _, in := range live {
					if in != nil {
						err = errors.Join(err, in.Close())
					}
				}
			}()
			before, berr := privateBytes()
			err = errors.Join(err, berr)
			began := time.Now()
			for len(live) <= liveOurs && err == nil {
				one, err = make(ctx, rt)
				live = append(live, one)
			}
			if err != nil {
				return s, err
			}
			s.Wall = time.Since(began) / liveOurs
			after, err := privateBytes()
			s.Bytes = (after - before) / liveOurs
			return s, err
		}}, nil
	}}
}

// privateBytes is this process's memory that no other has and no file.
func privateBytes() (sum int64, err error) {
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errAbsent, err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), "Private_Dirty:"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				return 0, err
			}
			sum += kib << 10
		}
	}
	return sum, nil
}

// eryxAlive keeps liveEryx sandboxes that have run a program.
func (h *hosts) eryxAlive() contender {
	name := fmt.Sprintf("eryx, %d after a run", liveEryx)
	return contender{name: name, role: peer, open: func(context.Context) (*opened, error) {
		if h.eryxErr != nil {
			return nil, h.eryxErr
		}
		return &opened{sample: func(ctx context.Context) (sample, error) {
			out, _, err := h.eryx.with("live", fmt.Sprint(liveEryx)).run(ctx)
			var reply struct{ Seconds, Bytes float64 }
			if err == nil {
				err = json.Unmarshal([]byte(out), &reply)
			}
			return sample{Wall: time.Duration(reply.Seconds * float64(time.Second)), Bytes: int64(reply.Bytes)}, err
		}}, nil
	}}
}

// oneProcess is for hosts that have an interpreter in a process: all that is
// resident of it.
func (h *hosts) oneProcess(name string, c func() command, err error) contender {
	check := func(stdout string, s *sample) error {
		var reply struct{ Bytes int64 }
		_, line, _ := strings.Cut(stdout, "\n") // the program's own comes first
		err := json.Unmarshal([]byte(line), &reply)
		s.Bytes = reply.Bytes
		return err
	}
	return asProcess(name+", resident", another, c, check, err, h.pyodideErr)
}

// writeLive shows memory.
func writeLive(w io.Writer, res *result) error {
	if _, err := fmt.Fprintf(w, "\n%s: %s\n", res.benchCase.path(), res.benchCase.title); err != nil {
		return err
	}
	t := table{head: []string{"", "MiB each", "ms each", "of the peer's memory"}}
	for _, r := range res.rows {
		if broken(r) || len(r.samples) == 0 {
			t.rows = append(t.rows, []string{r.contender, state(r.err) + ": " + reason(r.err)})
			continue
		}
		share := "-"
		if p := res.first(peer); p != nil && len(p.samples) > 0 && p.samples[0].Bytes > 0 {
			share = times(float64(r.samples[0].Bytes) / float64(p.samples[0].Bytes))
		}
		t.rows = append(t.rows, []string{r.contender, fmt.Sprintf("%.2f", float64(r.samples[0].Bytes)/(1<<20)), ms(r.wall().Median), share})
	}
	return t.write(w)
}
