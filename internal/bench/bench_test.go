package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		q, want float64
	}{
		{nil, 0.5, 0}, {[]float64{3}, 0.25, 3}, {[]float64{4, 1, 2}, 0.5, 2}, {[]float64{1, 2, 3, 4}, 0.5, 2.5}, {[]float64{1, 2}, 1, 2},
	} {
		if got := quantile(test.samples, test.q); got != test.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", test.samples, test.q, got, test.want)
		}
	}
	if got := geomean([]float64{0.5, 2, 0}); math.Abs(got-1) > 1e-9 {
		t.Errorf("geomean = %v, want 1", got)
	}
}

// fake is a contender that notes its runs in log and fails at the last.
func fake(name string, log *[]string, last int, value float64) contender {
	n := 0
	return contender{name: name, build: true, open: func(context.Context) (*opened, error) {
		return &opened{cpu: func() time.Duration { return time.Duration(n) * time.Millisecond }, sample: func(context.Context) (float64, error) {
			*log = append(*log, name)
			if n++; n == last {
				return 0, errors.New("it broke")
			}
			return value, nil
		}}, nil
	}}
}

// The contenders take turns, in bursts, from both ends; one that failed is
// not run again, and the table has figures only for those that did not.
func TestMeasure(t *testing.T) {
	var log []string
	c := &benchCase{name: "x/y", rounds: 2, burst: 2, contenders: []contender{
		fake("a", &log, 0, 1), fake("b", &log, 0, 2), fake("c", &log, 2, 3),
		{name: "absent", open: func(context.Context) (*opened, error) { return nil, errors.New("not here") }},
	}}
	res := measure(t.Context(), c, 0)
	if want := strings.Fields("a a b b c c b b a a"); !slices.Equal(log, want) {
		t.Errorf("the turns were %v, want %v", log, want)
	}
	if r := res.rows[0]; len(r.samples) != 4 || r.median() != 1 || r.cpu != time.Millisecond || r.err != nil {
		t.Errorf("a: %+v", r)
	}
	var out strings.Builder
	if err := write(&out, topic{name: "x", title: "letters", unit: "ms"}, []*result{res}); err != nil {
		t.Fatal(err)
	}
	const want = `
x: letters
case  contender  median ms  quartiles  cpu ms  runs  ours/it  cpu
x/y   a          1.00       1.00–1.00  1.00    4              
      b          2.00       2.00–2.00  1.00    4     0.50     1.00
      c          3.00       3.00–3.00  -       1     failed   
      absent     -          -–-        -       0     failed   
x/y, c: it broke
x/y, absent: not here
`
	if out.String() != want {
		t.Errorf("the table is\n%q, want\n%q", &out, want)
	}
}

func TestReadElapsed(t *testing.T) {
	read := readElapsed("RESULT x 1")
	if v, err := read("RESULT x 1\nELAPSED_MS 12.5\n"); v != 12.5 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, out := range []string{"", "RESULT x 2\nELAPSED_MS 12.5\n", "RESULT x 1\n", "RESULT x 1\nELAPSED_MS NaN\n"} {
		if v, err := read(out); err == nil {
			t.Errorf("%q was read as %v", out, v)
		}
	}
}

func TestCaseNames(t *testing.T) {
	seen := map[string]bool{}
	for _, topic := range topics(&hosts{builds: []build{{name: "coderunner"}}}) {
		for _, c := range topic.cases {
			name := topic.name + "/" + c.name
			if seen[name] || c.rounds == 0 || !c.contenders[0].build {
				t.Errorf("%s: twice, without rounds, or without our build: %+v", name, c)
			}
			seen[name] = true
		}
	}
}

// The real thing, once.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("builds coderunner and runs it beside its peers")
	}
	var out strings.Builder
	o := options{only: regexp.MustCompile(`^stdio/.*/hello$`), rounds: 1, cache: filepath.Join(testcache.Dir(), "bench")}
	if err := bench(t.Context(), o, &out, t.Output()); err != nil || strings.Contains(out.String(), "failed") {
		t.Errorf("%v\n%s", err, &out)
	}
}
