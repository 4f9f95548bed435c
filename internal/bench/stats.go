package main

import (
	"math"
	"slices"
	"time"
)

// summary is what a table shows of a row's samples.
type summary struct {
	N                          int
	Median, Low, High, Fastest time.Duration // Low and High are the quartiles
}

// summarize gives the zero summary for no samples.
func summarize(samples []time.Duration) summary {
	if len(samples) == 0 {
		return summary{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	return summary{
		N:       len(sorted),
		Median:  quantile(sorted, 0.5),
		Low:     quantile(sorted, 0.25),
		High:    quantile(sorted, 0.75),
		Fastest: sorted[0],
	}
}

// quantile interpolates between the two nearest of the sorted samples, of
// which there is at least one.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return sorted[i] + time.Duration(math.Round(part*float64(sorted[i+1]-sorted[i])))
}

// ratio is a/b, and 0 where one of them was not measured.
func ratio(a, b time.Duration) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// geomean is the geometric mean of those that are positive, and their number.
func geomean(values []float64) (mean float64, n int) {
	var sum float64
	for _, v := range values {
		if v > 0 {
			sum += math.Log(v)
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return math.Exp(sum / float64(n)), n
}
