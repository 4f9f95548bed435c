package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// sampleLimit ends a run that hangs.
const sampleLimit = 3 * time.Minute

// contender is one host of a case's program.
type contender struct {
	name string
	open func(ctx context.Context) (*opened, error) // prepares it, outside what is measured

	samples []float64
	cpu     time.Duration // per run
	err     error         // why there are no more samples
}

// opened is a contender that can be measured.
type opened struct {
	sample func(ctx context.Context) (float64, error)
	cpu    func() time.Duration // used until now; nil where unknown
	close  func()               // may be nil
}

// benchCase is one program and the contenders that run it, ours first.
type benchCase struct {
	name       string // topic/language/program; of the topic memory MiB, else ms
	rounds     int    // usual ones
	burst      int    // runs of a contender in a round: what it does after a run then falls on itself
	contenders []contender
}

// measure runs the contenders in turn, after a burst that is not measured. One
// that fails is not run again.
func measure(ctx context.Context, c benchCase, rounds int) []*contender {
	rounds = cmp.Or(rounds, c.rounds)
	var all, order []*contender
	open := map[*contender]*opened{}
	for i := range c.contenders {
		one := &c.contenders[i]
		all = append(all, one)
		o, err := one.open(ctx)
		if err != nil {
			one.err = err
			continue
		}
		if o.close != nil {
			defer o.close()
		}
		open[one] = o
		order = append(order, one)
		one.run(ctx, o, c.burst)
		one.samples = nil
		if o.cpu != nil {
			one.cpu = -o.cpu()
		}
	}
	for range rounds {
		for _, one := range order {
			one.run(ctx, open[one], c.burst)
		}
		if len(order) > 2 { // each has its turn to be first; and none follows itself, which would double its burst
			order = append(order[1:], order[0])
		}
	}
	for _, one := range order {
		if cpu := open[one].cpu; cpu != nil && one.err == nil {
			one.cpu = (one.cpu + cpu()) / time.Duration(len(one.samples))
		}
	}
	return all
}

func (c *contender) run(ctx context.Context, o *opened, times int) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	for ; times > 0 && c.err == nil; times-- {
		var v float64
		if v, c.err = o.sample(ctx); c.err == nil {
			c.samples = append(c.samples, v)
		}
	}
}

// quantile interpolates between the two nearest samples, and is 0 of none.
func (c *contender) quantile(q float64) float64 {
	if len(c.samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.samples))
	whole, part := math.Modf(q * float64(len(sorted)-1))
	i := int(whole)
	return sorted[i] + part*(sorted[min(i+1, len(sorted)-1)]-sorted[i])
}

// table prints a line for each contender of a case, with the ratio of ours to
// it, and says in the end what has failed.
type table struct {
	*tabwriter.Writer
	failed []string
}

func newTable(w io.Writer) *table {
	t := &table{Writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(t, "case\tcontender\tmedian\tquartiles\tcpu ms\truns\tours/it\tcpu")
	return t
}

func (t *table) add(name string, contenders []*contender) {
	ours, label := contenders[0], name
	for i, c := range contenders {
		median := c.quantile(0.5)
		ratio, cpu := figure(ours.quantile(0.5)/median), figure(float64(ours.cpu)/float64(c.cpu))
		if i == 0 {
			ratio, cpu = "", ""
		}
		if c.err != nil {
			ratio = "failed"
			t.failed = append(t.failed, fmt.Sprintf("%s, %s: %v", name, c.name, c.err))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s–%s\t%s\t%d\t%s\t%s\n", label, c.name, figure(median),
			figure(c.quantile(0.25)), figure(c.quantile(0.75)), figure(ms(c.cpu)), len(c.samples), ratio, cpu)
		label = ""
	}
}

func (t *table) write() error {
	if err := t.Flush(); err != nil || t.failed == nil {
		return err
	}
	return fmt.Errorf("failed:\n%s", strings.Join(t.failed, "\n"))
}

// figure prints about three digits.
func figure(v float64) string {
	switch {
	case !(v > 0) || math.IsInf(v, 0):
		return "-"
	case v < 99.5:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
