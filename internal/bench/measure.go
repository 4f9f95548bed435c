package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// sampleLimit ends a run that hangs.
const sampleLimit = 3 * time.Minute

// contender is one host of a case's program.
type contender struct {
	name  string
	build bool // of coderunner, not a peer
	// open prepares it, outside what is measured.
	open func(ctx context.Context) (*opened, error)
}

// opened is a contender that can be measured.
type opened struct {
	sample func(ctx context.Context) (float64, error) // in the unit of its topic
	cpu    func() time.Duration                       // used until now; nil where unknown
	close  func()                                     // may be nil
}

// benchCase is one program and the contenders that run it, ours first.
type benchCase struct {
	name       string
	rounds     int // usual ones
	burst      int // runs of a contender in a round: what it does after a run then falls on itself
	warm       int // runs before, not measured
	contenders []contender
}

// row is what was measured of one contender.
type row struct {
	contender
	samples []float64
	cpu     time.Duration // per run
	err     error         // why there are no more samples
}

func (r *row) median() float64 { return quantile(r.samples, 0.5) }

type result struct {
	name string
	rows []*row
}

// measure runs the contenders in turn. One that fails is not run again.
func measure(ctx context.Context, c *benchCase, rounds int) *result {
	if rounds == 0 {
		rounds = c.rounds
	}
	res := &result{name: c.name}
	open := make([]*opened, len(c.contenders))
	began := make([]time.Duration, len(c.contenders))
	for i, one := range c.contenders {
		r := &row{contender: one}
		res.rows = append(res.rows, r)
		open[i], r.err = within(ctx, one.open)
		if r.err != nil {
			continue
		}
		if open[i].close != nil {
			defer open[i].close()
		}
		for range c.warm {
			if _, r.err = within(ctx, open[i].sample); r.err != nil {
				break
			}
		}
		if open[i].cpu != nil {
			began[i] = open[i].cpu()
		}
	}
	order := make([]int, len(open))
	for i := range order {
		order[i] = i
	}
	for range rounds {
		for _, i := range order {
			res.rows[i].run(ctx, open[i], max(c.burst, 1))
		}
		slices.Reverse(order)
	}
	for i, r := range res.rows {
		if n := len(r.samples); n > 0 && r.err == nil && open[i].cpu != nil {
			r.cpu = (open[i].cpu() - began[i]) / time.Duration(n)
		}
	}
	return res
}

func (r *row) run(ctx context.Context, o *opened, times int) {
	for range times {
		if r.err != nil {
			return
		}
		v, err := within(ctx, o.sample)
		if r.err = err; err == nil {
			r.samples = append(r.samples, v)
		}
	}
}

// within calls f with a context that ends after sampleLimit.
func within[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sampleLimit, fmt.Errorf("took more than %v", sampleLimit))
	defer cancel()
	v, err := f(ctx)
	if err == nil && ctx.Err() != nil || errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return v, err
}

// quantile interpolates between the two nearest samples, and is 0 of none.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// geomean returns the geometric mean of what is positive, or 0.
func geomean(values []float64) float64 {
	var sum float64
	n := 0
	for _, v := range values {
		if v > 0 {
			sum += math.Log(v)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}
