package main

import (
	"errors"
	"io/fs"
	"path"
	"testing"
	"time"
)

func TestEveryProgramIsExpected(t *testing.T) {
	expected, err := cpuExpected()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(cpuFiles, "testdata/cpu/*.py")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 10 || len(expected) != len(names) {
		t.Errorf("%d programs, %d expected lines, want 10 of each", len(names), len(expected))
	}
	for _, name := range names {
		if expected[path.Base(name)] == "" {
			t.Errorf("%s has no expected line", name)
		}
	}
}

func TestReadElapsed(t *testing.T) {
	const want = "RESULT x 1"
	for stdout, ms := range map[string]float64{
		"RESULT x 1\nELAPSED_MS 12.5\n":         12.5,
		"noise\r\nRESULT x 1\r\nELAPSED_MS 3.0": 3,
		"RESULT x 2\nELAPSED_MS 12.5\n":         0,
		"RESULT x 10\nELAPSED_MS 12.5\n":        0,
		"ELAPSED_MS 12.5\n":                     0,
		"RESULT x 1\n":                          0,
		"RESULT x 1\nELAPSED_MS -1\n":           0,
		"RESULT x 1\nELAPSED_MS NaN\n":          0,
		"":                                      0,
	} {
		got, err := readElapsed(stdout, want)
		if got != time.Duration(ms*float64(time.Millisecond)) {
			t.Errorf("readElapsed(%q) = %v, want %v ms", stdout, got, ms)
		}
		if (ms == 0) != errors.Is(err, errWrong) {
			t.Errorf("readElapsed(%q): %v", stdout, err)
		}
	}
}
