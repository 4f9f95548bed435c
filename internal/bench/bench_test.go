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

	"coderunner/internal/sample"
	"coderunner/internal/testcache"
)

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		q, want float64
	}{
		{nil, 0.5, 0}, {[]float64{3}, 0.25, 3}, {[]float64{4, 1, 2}, 0.5, 2}, {[]float64{1, 2, 3, 4}, 0.5, 2.5}, {[]float64{1, 2}, 1, 2},
	} {
		if got := (&contender{samples: test.samples}).quantile(test.q); got != test.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", test.samples, test.q, got, test.want)
		}
	}
}

// fake is a contender that notes its runs in log and fails at the last.
func fake(name string, log *[]string, last int, value float64) contender {
	n := 0
	return contender{name: name, open: func(context.Context) (*opened, error) {
		return &opened{cpu: func() time.Duration { return time.Duration(n) * time.Millisecond }, sample: func(context.Context) (float64, error) {
			*log = append(*log, name)
			if n++; n == last {
				return 0, errors.New("it broke")
			}
			return value, nil
		}}, nil
	}}
}

// None of the contenders follows itself, and of three each is first in a round.
func TestTurns(t *testing.T) {
	for names, want := range map[string]string{"ab": "ab ab ab ab", "abc": "abc abc bca cab"} {
		var log []string
		c := benchCase{name: "x/y", rounds: 3, burst: 1}
		for _, name := range names {
			c.contenders = append(c.contenders, fake(string(name), &log, 0, 1))
		}
		measure(t.Context(), c, 0)
		if got := strings.Join(log, ""); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("the turns were %v, want %v", got, want)
		}
	}
}

// The contenders take turns, in bursts; one that failed is not run again, and the table has
// figures only for those that did not.
func TestMeasure(t *testing.T) {
	var log []string
	c := benchCase{name: "x/y", rounds: 2, burst: 2, contenders: []contender{
		fake("a", &log, 0, 1), fake("b", &log, 0, 2), fake("c", &log, 4, 3),
		{name: "absent", open: func(context.Context) (*opened, error) { return nil, errors.New("not here") }},
	}}
	var out strings.Builder
	table := newTable(&out)
	table.add(c.name, measure(t.Context(), c, 0))
	if want := strings.Fields("a a b b c c a a b b c c b b a a"); !slices.Equal(log, want) {
		t.Errorf("the turns were %v, want %v", log, want)
	}
	err := table.write()
	const want = `
case  contender  median  quartiles  cpu ms  runs  ours/it  cpu
x/y   a          1       1–1        1       4              
      b          2       2–2        1       4     0.5      1
      c          3       3–3        -       1     failed   -
      absent     -       -–-        -       0     failed   -
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("the table is\n%q, want\n%q", got, want)
	}
	if err == nil || err.Error() != "failed:\nx/y, c: it broke\nx/y, absent: not here" {
		t.Errorf("the error is %v", err)
	}
}

// The kernels' least times are compared one by one, and by their geometric mean.
func TestKernels(t *testing.T) {
	var k kernels
	for _, run := range []struct {
		host, out string
		mean      float64
	}{
		{"ours", "4000 exp\n1000 sum f64\n", 0.002}, {"peer", "2000 exp\n2000 sum f64\n", 0.002},
		{"ours", "2000 exp\n8000 sum f64\n", 0.004}, {"peer", "8000 exp\n8000 sum f64\n", 0.008},
	} {
		if got, err := k.mean(run.host, run.out, nil); err != nil || math.Abs(got-run.mean) > 1e-9 {
			t.Errorf("mean(%q) = %v, %v, want %v", run.out, got, err, run.mean)
		}
	}
	for _, out := range []string{"", "fast exp\n"} {
		if _, err := k.mean("ours", out, nil); !errors.Is(err, errWrong) {
			t.Errorf("mean(%q): %v", out, err)
		}
	}
	var out strings.Builder
	if err := k.write(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
kernel, µs      ours  peer  ours/it
exp             2     2     1
sum f64         1     2     0.5
geometric mean  -     -     0.707
`
	if out.String() != want {
		t.Errorf("the table is\n%q, want\n%q", &out, want)
	}
}

func TestCaseNames(t *testing.T) {
	seen := map[string]bool{}
	cases, err := (&hosts{dir: t.TempDir(), builds: []build{{name: "coderunner"}}}).cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if seen[c.name] || c.rounds == 0 || c.burst == 0 || c.contenders[0].name != "coderunner" {
			t.Errorf("twice, without rounds, or without our build: %+v", c)
		}
		seen[c.name] = true
	}
}

// The real thing, once.
func TestBench(t *testing.T) {
	sample.Long(t) // builds coderunner and runs it beside its peer
	var out strings.Builder
	o := options{only: regexp.MustCompile(`^stdio/.*/hello`), rounds: 1, cache: filepath.Join(testcache.Dir(), "bench")}
	if err := compare(t.Context(), o, &out, t.Output()); err != nil || strings.Count(out.String(), "\n") != 3+2*2 { // its heads, and two cases of two contenders
		t.Errorf("%v\n%s", err, &out)
	}
	t.Log("\n" + out.String())
}
