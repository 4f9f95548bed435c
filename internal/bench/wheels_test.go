package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRuns(t *testing.T) {
	for _, tt := range []struct {
		c    benchCase
		l    limits
		want int
	}{
		{benchCase{}, limits{runs: 10}, 10},
		{benchCase{factor: 3}, limits{runs: 10}, 30},
		{benchCase{usual: 3}, limits{runs: 10}, 3},
		{benchCase{usual: 3, factor: 2}, limits{runs: 10}, 6},
		{benchCase{usual: 3}, limits{runs: 10, chosen: true}, 10},
		{benchCase{usual: 3, atMost: 1}, limits{runs: 10, chosen: true}, 1},
		{benchCase{atMost: 5}, limits{runs: 2, chosen: true}, 2},
	} {
		if got := tt.c.runs(tt.l); got != tt.want {
			t.Errorf("%+v with %+v: %d runs, want %d", tt.c, tt.l, got, tt.want)
		}
	}
	o, err := parseFlags([]string{"-n", "10"}, io.Discard)
	if err != nil || !o.limits.chosen {
		t.Errorf("-n 10: %+v, %v", o.limits, err)
	}
	if o, err = parseFlags([]string{"-only", "x"}, io.Discard); err != nil || o.limits.chosen {
		t.Errorf("no -n: %+v, %v", o.limits, err)
	}
}

func TestWheelCases(t *testing.T) {
	h := &hosts{files: t.TempDir()}
	cases, err := wheelCases(h)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.path())
		once := c.path() == "wheels/pymupdf/cold"
		if got := c.runs(limits{runs: 3, chosen: true}); once != (got == 1) {
			t.Errorf("%s is run %d times", c.path(), got)
		}
		if hot := strings.HasSuffix(c.name, "/hot"); hot != (c.want != "") {
			t.Errorf("%s wants the answer %q", c.path(), c.want)
		}
	}
	if len(names) != 12 || !slices.Contains(names, "wheels/msgpack/stdio") {
		t.Errorf("cases: %q", names)
	}
	files, err := os.ReadDir(h.files)
	if err != nil || len(files) != 6 {
		t.Errorf("%d programs, %v", len(files), err)
	}
}

func TestReadPrepared(t *testing.T) {
	for stdout, ms := range map[string]float64{
		"hello\nPREPARED_MS 12.5\n":  12.5,
		"hello\n":                    0,
		"other\nPREPARED_MS 12.5\n":  0,
		"hello\nPREPARED_MS NaN\n":   0,
		"hello\nPREPARED_MS 1 2\n":   0,
		"hello\nPREPARED_MS -3\n":    0,
		"hello\nPREPARED_MS 1e300\n": 0,
	} {
		stdout = strings.ReplaceAll(stdout, "hello\n", hello.Stdout)
		var s sample
		err := readPrepared(stdout, &s)
		if (ms == 0) != errors.Is(err, errWrong) {
			t.Errorf("readPrepared(%q): %v", stdout, err)
		}
		if want := time.Duration(ms * float64(time.Millisecond)); err == nil && s.Own != want {
			t.Errorf("readPrepared(%q) took %v, want %v", stdout, s.Own, want)
		}
	}
}

func TestReadOutcome(t *testing.T) {
	const digest = "06a0657a4110d563255006b7cb7147432f67827144e429c2cdb1c967548d1817"
	said := strings.TrimSpace(hello.Stdout)
	o, err := readOutcome(`{"status":"succeeded","stdout":"` + said + `\n","error":null,` +
		`"packages":[{"name":"a","sha256":"` + digest + `","cached":false}],"usage":{"prepare_ms":1500}}`)
	if err != nil || o.Usage.PrepareMS != 1500 || o.allNew() != nil {
		t.Fatalf("%+v, %v, %v", o, err, o.allNew())
	}
	root := t.TempDir()
	if _, err := wheelPaths(root, o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a wheel that is not there: %v", err)
	}
	want := filepath.Join(root, "blobs", "sha256", "06", digest)
	if err := os.MkdirAll(want, 0o700); err != nil {
		t.Fatal(err)
	}
	if paths, err := wheelPaths(root, o); err != nil || !slices.Equal(paths, []string{want}) {
		t.Errorf("wheelPaths = %q, %v, want %q", paths, err, want)
	}
	o.Packages[0].Cached = true
	if err := o.allNew(); !errors.Is(err, errWrong) {
		t.Errorf("a package that was cached: %v", err)
	}
	o.Packages[0].SHA256 = "1"
	if _, err := wheelPaths(root, o); !errors.Is(err, errWrong) {
		t.Errorf("a short digest: %v", err)
	}
	if _, err := wheelPaths(root, outcome{}); !errors.Is(err, errWrong) {
		t.Errorf("no packages: %v", err)
	}
	for _, bad := range []string{
		"", "{", `{"stdout":"other\n"}`, `{"stdout":"` + said + `\n","usage":{"prepare_ms":-1}}`,
		`{"status":"failed","stdout":"` + said + `\n","error":{"type":"T","message":"m"}}`,
	} {
		if _, err := readOutcome(bad); err == nil {
			t.Errorf("readOutcome(%q) is in order", bad)
		}
	}
}

func TestLinkParts(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, name := range []string{"trees/a/b", "files/c", "deno/d"} {
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b", filepath.Join(from, "trees/a/link")); err != nil {
		t.Fatal(err)
	}
	if err := linkParts(to, from, []string{"trees", "files", "absent"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trees/a/b", "files/c", "trees/a/link"} {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "deno")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("deno was copied, too: %v", err)
	}
	if err := copyFile(filepath.Join(to, "files/c"), filepath.Join(from, "files/c")); !errors.Is(err, os.ErrExist) {
		t.Errorf("copyFile over a file: %v", err)
	}
	if err := copyFile(filepath.Join(to, "new"), filepath.Join(from, "files/c")); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "new")); err != nil || string(got) != "files/c" {
		t.Errorf("copyFile: %q, %v", got, err)
	}
}

func TestWriteWheels(t *testing.T) {
	results := []*result{
		{benchCase: &benchCase{name: "a/cold", title: "cold install"}, rows: []*row{
			{contender: "us", samples: taking(3000, 2500)}, {contender: "them", role: peer, samples: taking(6000, 50, 4000, 30)}}},
		{benchCase: &benchCase{name: "a/hot", title: "hot loop", want: "RESULT 1"}, rows: []*row{
			{contender: "us", samples: taking(900, 400)}, {contender: "them", role: peer, samples: taking(3000, 200)},
			{contender: "them, mounted", role: another, samples: taking(2000, 100)}}},
		{benchCase: &benchCase{name: "b/warm", title: "warm import"}, rows: []*row{
			{contender: "us", samples: taking(500, 0)}, {contender: "them", role: peer, err: errors.New("cannot load")}}},
	}
	for _, r := range results[1].rows {
		r.samples[0].Answer = "RESULT 1"
	}
	results[1].rows[2].samples[0].Answer = "RESULT 2"
	var b strings.Builder
	if err := writeWheels(&b, results); err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(b.String(), "cold install: ours with")
	_, after, _ = strings.Cut(after, "the wheels each time.\n")
	want := `
wheels: compiled packages (medians in ms; n: ours/peer's runs; of the peer's time: ratio of the medians)
                    coderunner    peer    n  of the peer's time  unpacked before  of its time
a: cold install           3000    5000  1/2                0.60
a: of it preparing        2500    40.0  1/2               62.50
a: hot loop                400     200  1/1                2.00              100         4.00
b: warm import             500  failed  1/0                   -
`
	if diff := cmp.Diff(want, before); !ok || diff != "" {
		t.Error(diff)
	}
	wantEnd := `a/hot wrong (them, mounted): "RESULT 2", want "RESULT 1"
them (b/warm) failed: cannot load
`
	if diff := cmp.Diff(wantEnd, after); diff != "" {
		t.Error(diff)
	}
}
