package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sample is one measured run.
type sample struct {
	Wall time.Duration // as whoever asked for it sees it
	Own  time.Duration // as the program itself measured it, where it does
	CPU  time.Duration // of all cores together, where it was a process

	Bytes int64 // memory of one interpreter, where that is measured

	Batch *batch // what came of many runs at once, where that is measured

	Answer string // what the program came to, where the case has one to want
}

// role is what a contender is in its case.
type role int

const (
	ours    role = iota // the first of these is what ratios are of
	peer                // the first of these is what ratios are to
	another             // for orientation
)

// contender is one host of a case's program.
type contender struct {
	name string
	role role
	// open prepares it, outside what is measured. An error wrapping errAbsent
	// says that this machine does not have it.
	open func(ctx context.Context) (*opened, error)
}

// opened is a contender that can be measured.
type opened struct {
	sample func(ctx context.Context) (sample, error)
	close  func() // may be nil
}

// errAbsent is a host that need not be there.
var errAbsent = errors.New("not on this machine")

// errStopped is for what was not measured because everything had to end.
var errStopped = errors.New("not measured")

// errWrong is an output that is not what the case is about.
var errWrong = errors.New("wrong output")

// benchCase is one program and the hosts that it is measured on.
type benchCase struct {
	topic, name string
	title       string
	want        string        // the answer, which rows with another one say to be wrong; "": any
	warm        int           // runs of each contender that are not measured
	factor      int           // how many times -n is measured, for what takes no time
	usual       int           // runs when there is no -n; 0: its default
	atMost      int           // runs whatever -n is, for what takes minutes; 0: any number
	patience    time.Duration // a limit that is above -limit, for the same; 0: none
	contenders  []contender
}

// runs is how often each contender is measured.
func (c *benchCase) runs(l limits) int {
	n := l.runs
	if c.usual > 0 && !l.chosen {
		n = c.usual
	}
	n *= max(c.factor, 1)
	if c.atMost > 0 {
		n = min(n, c.atMost)
	}
	return n
}

func (c *benchCase) path() string { return c.topic + "/" + c.name }

// row is what was measured of one contender.
type row struct {
	contender string
	role      role
	samples   []sample
	err       error // why there are no more samples
}

func (r *row) wall() summary {
	return summarize(r.column(func(s sample) time.Duration { return s.Wall }))
}
func (r *row) own() summary {
	return summarize(r.column(func(s sample) time.Duration { return s.Own }))
}
func (r *row) cpu() summary {
	return summarize(r.column(func(s sample) time.Duration { return s.CPU }))
}

func (r *row) column(of func(sample) time.Duration) []time.Duration {
	var out []time.Duration
	for _, s := range r.samples {
		out = append(out, of(s))
	}
	return out
}

// wrongAnswer is the first of a row's answers that is not the one wanted, or "".
func (r *row) wrongAnswer(want string) string {
	for _, s := range r.samples {
		if want != "" && s.Answer != want {
			return s.Answer
		}
	}
	return ""
}

// result is a case that was measured.
type result struct {
	benchCase *benchCase
	rows      []*row
}

// first gives the first row of a role, or nil.
func (r *result) first(of role) *row {
	for _, row := range r.rows {
		if row.role == of {
			return row
		}
	}
	return nil
}

// wrong are the rows with a wrong answer. agree reports whether there is just
// one answer, right or wrong, in all that was measured.
func (r *result) wrong() (rows []*row, agree bool) {
	answers := map[string]bool{}
	for _, row := range r.rows {
		if row.wrongAnswer(r.benchCase.want) != "" {
			rows = append(rows, row)
		}
		for _, s := range row.samples {
			answers[s.Answer] = true
		}
	}
	return rows, len(answers) == 1
}

// limits bound the measuring.
type limits struct {
	runs   int
	chosen bool          // runs was asked for, and is no default
	sample time.Duration // for one run, and for opening a contender
}

// measure runs the contenders in turn, one run each, so that what else happens
// on the machine hits all alike. A contender that fails is not run again; its
// row says why. When ctx ends the rest is not measured.
func measure(ctx context.Context, c *benchCase, l limits) *result {
	res := &result{benchCase: c}
	l.sample = max(l.sample, c.patience)
	var open []*opened
	for i := range c.contenders {
		res.rows = append(res.rows, &row{contender: c.contenders[i].name, role: c.contenders[i].role})
		o, err := openContender(ctx, &c.contenders[i], c.warm, l.sample)
		res.rows[i].err = err
		open = append(open, o)
	}
	defer func() {
		for _, o := range open {
			if o != nil && o.close != nil {
				o.close()
			}
		}
	}()
	for range c.runs(l) {
		for i, o := range open {
			row := res.rows[i]
			if row.err != nil {
				continue
			}
			s, err := within(ctx, l.sample, o.sample)
			if err != nil {
				row.err = err
				continue
			}
			row.samples = append(row.samples, s)
		}
	}
	return res
}

// openContender gives what must be closed even when there is an error.
func openContender(ctx context.Context, c *contender, warm int, limit time.Duration) (*opened, error) {
	o, err := within(ctx, limit, c.open)
	for range warm {
		if err != nil {
			break
		}
		_, err = within(ctx, limit, o.sample)
	}
	return o, err
}

// within calls f with a context of its own limit, and explains the error of
// one that struck.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	stopped := func() error { return fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)) }
	if ctx.Err() != nil {
		var zero T
		return zero, stopped()
	}
	inner, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("took more than %v", limit))
	defer cancel()
	v, err := f(inner)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = stopped()
	case inner.Err() != nil:
		err = context.Cause(inner)
	}
	return v, err
}
