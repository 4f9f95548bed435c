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
	for stdout, ms := range map[string]float64{
		"RESULT x 1\nELAPSED_MS 12.5\n":         12.5,
		"noise\r\nRESULT x 1\r\nELAPSED_MS 3.0": 3,
		"ELAPSED_MS 12.5\n":                     0,
		"RESULT x 1\n":                          0,
		"RESULT x 1\nELAPSED_MS -1\n":           0,
		"RESULT x 1\nELAPSED_MS NaN\n":          0,
		"":                                      0,
	} {
		result, took, err := readElapsed(stdout)
		if took != time.Duration(ms*float64(time.Millisecond)) || (ms == 0) != errors.Is(err, errWrong) {
			t.Errorf("readElapsed(%q) = %v, %v, want %v ms", stdout, took, err, ms)
		}
		if err == nil && result != "RESULT x 1" {
			t.Errorf("readElapsed(%q): result %q", stdout, result)
		}
	}
}
