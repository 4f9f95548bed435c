package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// taking makes the samples of a row: wall, own, wall, own, … in milliseconds.
func taking(pairs ...int) (samples []sample) {
	for i := 0; i < len(pairs); i += 2 {
		samples = append(samples, sample{
			Wall: time.Duration(pairs[i]) * time.Millisecond,
			Own:  time.Duration(pairs[i+1]) * time.Millisecond,
		})
	}
	return samples
}

func TestWriteList(t *testing.T) {
	res := &result{
		benchCase: &benchCase{topic: "hello", name: "x", title: "A hello"},
		rows: []*row{
			{contender: "coderunner run", samples: taking(5, 0, 7, 0, 6, 0)},
			{contender: "Pyodide on Deno", role: peer, samples: taking(1200, 0, 1600, 0)},
			{contender: "naïve host", role: another, samples: taking(3, 0), err: errors.New("it\nbroke")},
			{contender: "Node", role: another, err: fmt.Errorf("find node: %w", errAbsent)},
		},
	}
	res.rows[0].samples[0].CPU = 40 * time.Millisecond
	var b strings.Builder
	if err := writeList(&b, res); err != nil {
		t.Fatal(err)
	}
	want := `
hello/x: A hello (ms; the peer is Pyodide on Deno)
                 median  quartiles  fastest  cpu  runs  of the peer's time
coderunner run     6.00  5.50–6.50     5.00    -     3               0.004
Pyodide on Deno    1400  1300–1500     1200    -     2                1.00
naïve host         3.00  3.00–3.00     3.00    -     1               0.002  then failed: it broke
Node             absent: find node: not on this machine
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteMatrix(t *testing.T) {
	program := func(name string, rows ...*row) *result {
		for i, name := range []string{"coderunner run", "Pyodide on Deno", "Pyodide on Node"} {
			rows[i].contender = name
			for j := range rows[i].samples {
				if rows[i].samples[j].Answer == "" {
					rows[i].samples[j].Answer = "RESULT 1"
				}
			}
		}
		return &result{benchCase: &benchCase{topic: "cpu", name: name, want: "RESULT 1"}, rows: rows}
	}
	answering := func(answer string, pairs ...int) *row {
		r := &row{samples: taking(pairs...)}
		r.samples[len(r.samples)-1].Answer = answer
		return r
	}
	absent := func() *row { return &row{err: fmt.Errorf("find node: %w", errAbsent)} }
	results := []*result{
		program("a", &row{samples: taking(1000, 800)}, &row{samples: taking(2000, 400)}, absent()),
		program("b", &row{samples: taking(3000, 2000)}, &row{samples: taking(3000, 1000), err: errStopped}, absent()),
		program("failed", &row{samples: taking(10, 10), err: errors.New("exit 1")}, &row{samples: taking(900, 90)}, absent()),
		program("wrong", &row{samples: taking(10, 10)}, answering("RESULT 2", 900, 90, 900, 90), absent()),
		program("disputed", answering("RESULT 3", 60, 60), answering("RESULT 3", 480, 480), absent()),
	}
	var b strings.Builder
	if err := writeCPU(&b, results); err != nil {
		t.Fatal(err)
	}
	want := `
cpu: Python programs that compute, by their own clock (medians in ms; vs: our speed, the other's time by ours)
                                 coderunner run  Pyodide on Deno  Pyodide on Node  vs Deno  vs Node
a                                           800              400           absent     0.50        -
b                                          2000             1000           absent     0.50        -
failed                                   failed             90.0           absent        -        -
wrong                                      10.0             90.0           absent     9.00        -  wrong: Pyodide on Deno
disputed                                   60.0              480           absent     8.00        -  wrong: all
geometric mean                                                                        0.50        -
ahead in                                                                            0 of 2   0 of 0
geometric mean, where all agree                                                       1.26        -
ahead in, where all agree                                                           1 of 3   0 of 0

cpu: Python programs that compute, start and end included (medians in ms; vs: our speed, the other's time by ours)
                                 coderunner run  Pyodide on Deno  Pyodide on Node  vs Deno  vs Node
a                                          1000             2000           absent     2.00        -
b                                          3000             3000           absent     1.00        -
failed                                   failed              900           absent        -        -
wrong                                      10.0              900           absent    90.00        -  wrong: Pyodide on Deno
disputed                                   60.0              480           absent     8.00        -  wrong: all
geometric mean                                                                        1.41        -
ahead in                                                                            1 of 2   0 of 0
geometric mean, where all agree                                                       2.52        -
ahead in, where all agree                                                           2 of 3   0 of 0
wrong wrong (Pyodide on Deno): "RESULT 2", want "RESULT 1"
disputed wrong (all): "RESULT 3", want "RESULT 1"
Pyodide on Node (all) absent: find node: not on this machine
Pyodide on Deno (b) stopped: not measured
coderunner run (failed) failed: exit 1
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFigures(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "-", 1234567: "1.23", 12345678: "12.3", 123456789: "123", 12345678900: "12346",
	} {
		if got := ms(d); got != want {
			t.Errorf("ms(%d) = %q, want %q", d, got, want)
		}
	}
	for r, want := range map[float64]string{0: "-", 0.0123: "0.012", 0.5: "0.50", 12.345: "12.35", 123.4: "123"} {
		if got := times(r); got != want {
			t.Errorf("times(%v) = %q, want %q", r, got, want)
		}
	}
}

func TestRecord(t *testing.T) {
	res := &result{
		benchCase: &benchCase{topic: "cpu", name: "a"},
		rows: []*row{
			{contender: "us", samples: taking(30, 20, 10, 8)},
			{contender: "them", role: peer, samples: taking(40, 30)},
			{contender: "none", role: another, err: errAbsent},
		},
	}
	res.rows[1].samples[0].Answer = "2"
	res.benchCase.want = "1"
	res.rows[0].samples[0].Answer, res.rows[0].samples[1].Answer = "1", "1"
	data, err := json.Marshal(newRecord(machine{CPU: "x"}, time.Unix(0, 0).UTC(), []*result{res}))
	if err != nil {
		t.Fatal(err)
	}
	var got record
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := []rowRecord{
		{Contender: "us", Role: "ours", MedianMS: 20, OwnMS: 14, OfPeerTime: 0.5,
			Samples: []sampleRecord{{30, 20, 0}, {10, 8, 0}}},
		{Contender: "them", Role: "peer", MedianMS: 40, OwnMS: 30, OfPeerTime: 1, Wrong: "2", Samples: []sampleRecord{{40, 30, 0}}},
		{Contender: "none", Role: "another", Error: "not on this machine", Samples: []sampleRecord{}},
	}
	if len(got.Cases) != 1 || got.Cases[0].Name != "cpu/a" || got.Machine.CPU != "x" {
		t.Fatalf("%s", data)
	}
	if diff := cmp.Diff(want, got.Cases[0].Rows); diff != "" {
		t.Error(diff)
	}
}
