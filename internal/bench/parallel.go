package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// The size of a batch.
const (
	parallelRuns    = 1000
	parallelCallers = 32
	parallelPeer    = 200 // for those that take longer
)

// batch is what came of many runs at once.
type batch struct {
	Runs    map[string]int // by language, those that printed what they should
	Failed  int
	Crossed int // printed another run's marker
	First   string
}

var parallelCode = map[string]string{
	"python":     "print('marker %d')",
	"typescript": "const n: number = %d; console.log(`marker ${n}`)",
}

// parallelCases are many runs from callers that each wait for their own.
func parallelCases(h *hosts) []benchCase {
	title := fmt.Sprintf("runs from %d parallel callers, each of which prints its own marker", parallelCallers)
	return []benchCase{
		{
			topic: "parallel", name: "mixed", atMost: 1, title: title,
			contenders: []contender{h.batch("coderunner serve, Python and TypeScript in turn", ours, "python", "typescript"), h.denoBatch()},
		},
		{
			topic: "parallel", name: "python", atMost: 1, title: title,
			contenders: []contender{h.batch("coderunner serve", ours, "python"), h.eryxBatch()},
		},
		{
			topic: "parallel", name: "typescript", atMost: 1, title: title,
			contenders: []contender{h.batch("coderunner serve", ours, "typescript"), h.denoBatch()},
		},
	}
}

// inParallel makes runs 0, 1, … from callers at a time, and counts.
func inParallel(runs, callers int, languages []string, one func(n int, language string) (stdout string, err error)) *batch {
	b := &batch{Runs: map[string]int{}}
	next := make(chan int)
	var mu sync.Mutex
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for n := range next {
				language := languages[n%len(languages)]
				stdout, err := one(n, language)
				mu.Lock()
				b.count(n, language, stdout, err)
				mu.Unlock()
			}
		})
	}
	for n := range runs {
		next <- n
	}
	close(next)
	group.Wait()
	return b
}

func (b *batch) count(n int, language, stdout string, err error) {
	switch {
	case err == nil && stdout == fmt.Sprintf("marker %d\n", n):
		b.Runs[language]++
		return
	case err == nil && strings.Contains(stdout, "marker "):
		b.Crossed++
		err = fmt.Errorf("run %d printed %q", n, stdout)
	case err == nil:
		err = fmt.Errorf("run %d printed %q", n, stdout)
	}
	b.Failed++
	if b.First == "" {
		b.First = err.Error()
	}
}

// batch makes a server run a batch.
func (h *hosts) batch(name string, r role, languages ...string) contender {
	return contender{name: name, role: r, open: func(ctx context.Context) (*opened, error) {
		s, err := serve(ctx, h.coderunner)
		if err != nil {
			return nil, err
		}
		for range 3 {
			for _, language := range languages {
				if _, err := s.runCode(ctx, language, fmt.Sprintf(parallelCode[language], 0)); err != nil {
					s.talk.close()
					return nil, err
				}
			}
		}
		return &opened{close: s.talk.close, sample: func(ctx context.Context) (sample, error) {
			calls := multiplex(s)
			began := time.Now()
			b := inParallel(parallelRuns, parallelCallers, languages, func(n int, language string) (string, error) {
				return calls.run(ctx, language, fmt.Sprintf(parallelCode[language], n))
			})
			return sample{Wall: time.Since(began), Batch: b}, b.err()
		}}, nil
	}}
}

// err says that a batch of ours is not in order.
func (b *batch) err() error {
	if b.Failed > 0 {
		return fmt.Errorf("%w: %d runs failed, %d of them by another's output: %s", errWrong, b.Failed, b.Crossed, b.First)
	}
	return nil
}

// calls are the ones that a server is working on.
type calls struct {
	s  *server
	mu sync.Mutex
	// to whom an answer goes, by id; closed when the server is gone
	waiting map[string]chan toolResult
	gone    error
}

// multiplex lets many callers use a server, which nobody may use otherwise any
// more.
func multiplex(s *server) *calls {
	c := &calls{s: s, waiting: map[string]chan toolResult{}}
	go c.read()
	return c
}

func (c *calls) read() {
	for c.s.talk.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Result toolResult
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(c.s.talk.out.Bytes(), &m); err != nil {
			break
		}
		if m.Error != nil {
			m.Result.StructuredContent.Status = m.Error.Message
		}
		c.mu.Lock()
		if w := c.waiting[string(m.ID)]; w != nil {
			w <- m.Result
			delete(c.waiting, string(m.ID))
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = errors.Join(errors.New("the server has ended"), c.s.talk.out.Err())
	for _, w := range c.waiting {
		close(w)
	}
	clear(c.waiting)
}

// run calls the tool and gives what the program printed.
func (c *calls) run(ctx context.Context, language, code string) (string, error) {
	answer := make(chan toolResult, 1)
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return "", c.gone
	}
	c.s.last++
	id := c.s.last
	c.waiting[fmt.Sprint(id)] = answer
	line, err := json.Marshal(request{Version: "2.0", ID: id, Method: "tools/call", Params: runCodeParams(language, code)})
	if err == nil {
		_, err = c.s.talk.in.Write(append(line, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case result, ok := <-answer:
		if !ok {
			return "", c.gone
		}
		got, err := result.said()
		return got.Stdout, err
	}
}

// denoBatch starts deno for each run.
func (h *hosts) denoBatch() contender {
	return contender{name: "deno run, a process each", role: peer, open: func(context.Context) (*opened, error) {
		if h.denoErr != nil {
			return nil, h.denoErr
		}
		files := make([]string, parallelPeer)
		for n := range files {
			files[n] = fmt.Sprintf("marker%d.ts", n)
			if err := h.writeFile(files[n], fmt.Appendf(nil, parallelCode["typescript"], n)); err != nil {
				return nil, err
			}
		}
		return &opened{sample: func(ctx context.Context) (sample, error) {
			began := time.Now()
			b := inParallel(parallelPeer, parallelCallers, []string{"typescript"}, func(n int, _ string) (string, error) {
				out, _, err := h.deno.with(h.file(files[n])).run(ctx)
				return out, err
			})
			return sample{Wall: time.Since(began), Batch: b}, b.err()
		}}, nil
	}}
}

// eryxBatch has eryx run programs on as many threads.
func (h *hosts) eryxBatch() contender {
	return contender{name: "eryx, a process with threads", role: peer, open: func(context.Context) (*opened, error) {
		if h.eryxErr != nil {
			return nil, h.eryxErr
		}
		return &opened{sample: func(ctx context.Context) (sample, error) {
			out, _, err := h.eryx.with("parallel", fmt.Sprint(parallelPeer), fmt.Sprint(parallelCallers)).run(ctx)
			var reply struct {
				Seconds float64
				Failed  int
			}
			if err == nil {
				err = json.Unmarshal([]byte(out), &reply)
			}
			b := &batch{Runs: map[string]int{"python": parallelPeer - reply.Failed}, Failed: reply.Failed}
			return sample{Wall: time.Duration(reply.Seconds * float64(time.Second)), Batch: b}, err
		}}, nil
	}}
}

// writeParallel shows batches.
func writeParallel(w io.Writer, results []*result) error {
	title := results[0].benchCase.title
	if _, err := fmt.Fprintf(w, "\nparallel: %s\n", title); err != nil {
		return err
	}
	t := table{head: []string{"", "runs", "failed", "crossed", "Python/s", "TypeScript/s", "of the peer's rate"}}
	for _, res := range results {
		p := res.first(peer)
		for _, r := range res.rows {
			name := res.benchCase.name + ": " + r.contender
			if len(r.samples) == 0 {
				t.rows = append(t.rows, []string{name, state(r.err) + ": " + reason(r.err)})
				continue
			}
			s := r.samples[0]
			share := "-"
			if p != nil && len(p.samples) > 0 && p.samples[0].rate("") > 0 {
				share = times(s.rate("") / p.samples[0].rate(""))
			}
			t.rows = append(t.rows, []string{name, fmt.Sprint(s.Batch.total()), fmt.Sprint(s.Batch.Failed), fmt.Sprint(s.Batch.Crossed),
				rate(s.rate("python")), rate(s.rate("typescript")), share})
		}
	}
	return t.write(w)
}

func (b *batch) total() int {
	n := b.Failed
	for _, language := range slices.Sorted(maps.Keys(b.Runs)) {
		n += b.Runs[language]
	}
	return n
}

// rate is the good runs of a language, or of all, in a second.
func (s sample) rate(language string) float64 {
	if s.Batch == nil || s.Wall <= 0 {
		return 0
	}
	n := s.Batch.Runs[language]
	if language == "" {
		n = s.Batch.total() - s.Batch.Failed
	}
	return float64(n) / s.Wall.Seconds()
}

func rate(r float64) string {
	if r == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", r)
}
