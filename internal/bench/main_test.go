package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseFlags(t *testing.T) {
	o, err := parseFlags([]string{"-only", "^cpu", "-n", "3", "-json", "x", "-budget", "1m"}, io.Discard)
	if err != nil || o.only.String() != "^cpu" || o.limits.runs != 3 || o.json != "x" || o.budget != time.Minute {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseFlags(nil, io.Discard); err != nil || o.limits.runs < 10 || !o.only.MatchString("anything") {
		t.Errorf("defaults: %+v, %v", o, err)
	}
	for _, args := range [][]string{{"-only", "("}, {"-n", "0"}, {"-n", "1001"}, {"-budget", "0s"}, {"-limit", "-1s"}, {"cpu"}, {"-x"}} {
		var out strings.Builder
		if _, err := parseFlags(args, &out); err == nil || out.Len() == 0 {
			t.Errorf("%q: %v, said %q", args, err, &out)
		}
	}
}

func TestModelName(t *testing.T) {
	const info = "processor\t: 0\nvendor_id\t: x\nmodel\t\t: 17\nmodel name\t: Some CPU @ 2 GHz\nflags\t: a b\n"
	if got := modelName(info); got != "Some CPU @ 2 GHz" {
		t.Errorf("modelName = %q", got)
	}
	if got := modelName(""); got == "" {
		t.Error("no name at all")
	}
}

func TestOurEnvHasNoSettings(t *testing.T) {
	got := ourEnv([]string{"PATH=/bin", "CODE_RUNNER_MEMORY=1GiB", "CODE_RUNNER_CACHE_DIR=/other", "DENO_PERMISSION_ARGS=-A",
		"NPM_CONFIG_REGISTRY=x"}, "/c")
	if want := []string{"CODE_RUNNER_CACHE_DIR=/c", "PATH=/bin", "NPM_CONFIG_REGISTRY=x"}; !slices.Equal(got, want) {
		t.Errorf("ourEnv = %q, want %q", got, want)
	}
}

// Names select cases and are what figures are kept by.
func TestCaseNames(t *testing.T) {
	h := &hosts{files: t.TempDir()}
	all, err := topics(h)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, topic := range all {
		for _, c := range topic.cases {
			if seen[c.path()] {
				t.Errorf("two cases are %s", c.path())
			}
			seen[c.path()] = true
			if c.contenders[0].role != ours || c.contenders[0].name == "" {
				t.Errorf("%s: the first contender is not ours", c.path())
			}
			if !slices.ContainsFunc(c.contenders, func(c contender) bool { return c.role == peer }) {
				t.Errorf("%s has no peer", c.path())
			}
		}
	}
	if !seen["cpu/nbody"] || !seen["hello/typescript/steady"] {
		t.Errorf("cases: %v", seen)
	}
}

// The real thing, once: every contender that is ours, or that we bring, must
// have figures.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("builds coderunner and runs it beside its peers")
	}
	// Git tells nothing of somebody else's clone, which would end go build.
	t.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false"))
	file := filepath.Join(t.TempDir(), "out.json")
	o := options{
		only:   regexp.MustCompile(`^hello/(python/(steady|process)|typescript/process)$`),
		limits: limits{runs: 1, sample: 5 * time.Minute},
		budget: 20 * time.Minute,
		json:   file,
	}
	var out strings.Builder
	if err := bench(t.Context(), o, &out, t.Output()); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Log(out.String())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	if len(rec.Cases) != 3 {
		t.Fatalf("%d cases, want 3", len(rec.Cases))
	}
	for _, c := range rec.Cases {
		for _, r := range c.Rows {
			if r.Role != "another" && (r.Error != "" || r.MedianMS <= 0 || r.OfPeerTime <= 0) {
				t.Errorf("%s, %s: %+v", c.Name, r.Contender, r)
			}
		}
	}
}
