package lookalike

import (
	"slices"
	"testing"
)

// TestMeans has slips of each kind, and names that are none.
func TestMeans(t *testing.T) {
	for _, tt := range []struct {
		names *Names
		want  map[string]string
	}{
		{PyPI(), map[string]string{
			"jsn": "json", "jsoon": "json", "joson": "json", "jso": "json", "nmupy": "numpy", "numpyy": "numpy", "nummpy": "numpy", "reqeusts": "requests", "pydanitc": "pydantic", "pydantik": "pydantic",
			"scikit-laern": "scikit-learn", "yml": "yaml", "padnas": "pandas", "socker": "socket", "tdqm": "tqdm",
			"numpy": "", "json": "", "xarray": "", "scapy": "", "simpy": "", "psycopg2": "", "boto": "", "polars": "", "rsa": "", "sgx": "", "": "", "my-own-project": "",
		}},
		{NPM(), map[string]string{
			"lodahs": "lodash", "expres": "express", "axois": "axios", "@babel/cor": "@babel/core", "chlk": "chalk", "raect": "react", "utils": "util", "semiver": "semver",
			"lodash": "", "preact": "", "clsx": "", "cookies": "", "sqlite": "", "left-pad": "", "lodash-es": "", "fs": "", "pq": "",
		}},
	} {
		for name, want := range tt.want {
			if got := tt.names.Means(name); got != want {
				t.Errorf("%s means %q, want %q", name, got, want)
			}
		}
	}
}

// TestLists has each name once, none of what many use taken for a slip, and no name that is
// alike to nothing.
func TestLists(t *testing.T) {
	for _, n := range []*Names{PyPI(), NPM()} {
		all := slices.Concat(n.common, n.alike)
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Error("a name is there twice")
		}
		if len(n.common) < 600 || !slices.IsSorted(n.alike) {
			t.Errorf("%d names, those that are alike sorted: %v", len(n.common), slices.IsSorted(n.alike))
		}
		for _, name := range n.alike {
			if nearest(n.common, name, 1) == "" {
				t.Errorf("%s is one letter from nothing", name)
			}
		}
		for _, name := range all {
			if means := n.Means(name); means != "" {
				t.Errorf("%s is taken for %s", name, means)
			}
		}
	}
}
