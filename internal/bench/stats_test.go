package main

import (
	"math"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		samples []time.Duration
		want    summary
	}{
		{nil, summary{}},
		{[]time.Duration{7}, summary{1, 7, 7, 7, 7}},
		{[]time.Duration{30, 10}, summary{2, 20, 15, 25, 10}},
		{[]time.Duration{50, 10, 40, 20, 30}, summary{5, 30, 20, 40, 10}},
		{[]time.Duration{1000, 1, 2, 3}, summary{4, 3, 2, 252, 1}}, // 2.5, 1.75 and 252.25, rounded
	} {
		before := append([]time.Duration{}, c.samples...)
		if got := summarize(c.samples); got != c.want {
			t.Errorf("summarize(%v) = %+v, want %+v", c.samples, got, c.want)
		}
		for i := range before {
			if before[i] != c.samples[i] {
				t.Fatalf("summarize has changed its argument: %v, was %v", c.samples, before)
			}
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		a, b time.Duration
		want float64
	}{{3, 2, 1.5}, {0, 2, 0}, {2, 0, 0}} {
		if got := ratio(c.a, c.b); got != c.want {
			t.Errorf("ratio(%d, %d) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestGeomean(t *testing.T) {
	for _, c := range []struct {
		values []float64
		mean   float64
		n      int
	}{
		{nil, 0, 0},
		{[]float64{0, 0}, 0, 0},
		{[]float64{0.5, 2}, 1, 2},
		{[]float64{4, 0, 1, 2}, 2, 3}, // 0 was not measured
	} {
		mean, n := geomean(c.values)
		if math.Abs(mean-c.mean) > 1e-12 || n != c.n {
			t.Errorf("geomean(%v) = %v, %d, want %v, %d", c.values, mean, n, c.mean, c.n)
		}
	}
}
