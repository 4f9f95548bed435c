package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script is a contender that does as it is told, and notes it.
type script struct {
	name string
	fail map[int]error // by number of the call, from 1
	log  *[]string
	n    int
}

func (s *script) contender() contender {
	return contender{name: s.name, open: func(context.Context) (*opened, error) {
		return &opened{
			close: func() { *s.log = append(*s.log, "close "+s.name) },
			sample: func(ctx context.Context) (sample, error) {
				s.n++
				*s.log = append(*s.log, s.name)
				return sample{Wall: time.Duration(s.n)}, s.fail[s.n]
			},
		}, nil
	}}
}

func TestTurns(t *testing.T) {
	var log []string
	a, b := &script{name: "a", log: &log}, &script{name: "b", log: &log}
	c := &benchCase{warm: 1, factor: 2, contenders: []contender{a.contender(), b.contender()}}
	res := measure(t.Context(), c, limits{runs: 1, sample: time.Minute})
	if want := "a b a b a b close a close b"; strings.Join(log, " ") != want {
		t.Errorf("ran %q, want %q", log, want)
	}
	for _, r := range res.rows {
		if r.err != nil || !slices.Equal(r.column(func(s sample) time.Duration { return s.Wall }), []time.Duration{2, 3}) {
			t.Errorf("%s: %+v: want the two runs after the first", r.contender, r)
		}
	}
}

func TestFailureStopsOnlyItsOwnRow(t *testing.T) {
	var log []string
	broken := errors.New("broken")
	late := &script{name: "late", log: &log, fail: map[int]error{3: broken}}
	warm := &script{name: "warm", log: &log, fail: map[int]error{1: broken}}
	good := &script{name: "good", log: &log}
	none := contender{name: "none", open: func(context.Context) (*opened, error) { return nil, errAbsent }}
	c := &benchCase{warm: 1, contenders: []contender{late.contender(), none, warm.contender(), good.contender()}}
	res := measure(t.Context(), c, limits{runs: 4, sample: time.Minute})
	for i, want := range []struct {
		samples int
		err     error
	}{{1, broken}, {0, errAbsent}, {0, broken}, {4, nil}} {
		if r := res.rows[i]; len(r.samples) != want.samples || !errors.Is(r.err, want.err) {
			t.Errorf("%s: %d samples, %v; want %d, %v", r.contender, len(r.samples), r.err, want.samples, want.err)
		}
	}
	for _, name := range []string{"late", "warm", "good"} {
		if !slices.Contains(log, "close "+name) {
			t.Errorf("%s was not closed", name)
		}
	}
}

func TestLimitAndBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := contender{name: "hangs", open: func(context.Context) (*opened, error) {
			return &opened{sample: func(ctx context.Context) (sample, error) {
				<-ctx.Done()
				return sample{}, ctx.Err()
			}}, nil
		}}
		c := &benchCase{contenders: []contender{hang}}
		l := limits{runs: 5, sample: time.Minute}

		began := time.Now()
		r := measure(t.Context(), c, l).rows[0]
		if state(r.err) != "failed" || !strings.Contains(reason(r.err), "more than 1m0s") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %s: %v", time.Since(began), state(r.err), r.err)
		}

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBudget)
		defer cancel()
		began = time.Now()
		r = measure(ctx, c, l).rows[0]
		if state(r.err) != "stopped" || !errors.Is(r.err, errBudget) || time.Since(began) != time.Second {
			t.Errorf("after %v: %s: %v", time.Since(began), state(r.err), r.err)
		}
		if r = measure(ctx, c, l).rows[0]; state(r.err) != "stopped" {
			t.Errorf("after the budget: %v", r.err)
		}
	})
}
