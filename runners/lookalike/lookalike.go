// Package lookalike knows the names of well-known packages, and recognizes names that are
// one letter from one of them. A misspelt name would install a stranger's package, so such a
// name is installed only if somebody has asked for it explicitly.
//
// # Sources
//
// npm.txt and pypi.txt have the modules of the standard library and the 500 packages that
// are downloaded most, by the registries' own counts, and behind [alike] those that are one
// letter from one of these and among the 15,000 that are downloaded most or needed by these,
// but for a few that look like slips themselves.
//
// # Limits
//
// Names of fewer than four letters are one letter from too much to be told apart.
package lookalike

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// minLength is the least length of a name that others may be a slip of.
const minLength = 4

// Names are the names of a registry.
type Names struct {
	named  []string // by programs, as far as that is known
	common []string // has named at its beginning
	alike  []string
}

//go:embed pypi.txt
var pypi string

//go:embed npm.txt
var npm string

// PyPI returns the names of Python's modules and projects, normalized.
var PyPI = sync.OnceValue(func() *Names { return parse(pypi) })

// NPM returns the names of Node's modules and npm's packages.
var NPM = sync.OnceValue(func() *Names { return parse(npm) })

func parse(text string) *Names {
	n := new(Names)
	lists := map[string]*[]string{"[named]": &n.named, "[common]": &n.common, "[alike]": &n.alike}
	var list *[]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case lists[line] != nil:
			list = lists[line]
		case line == "":
		case !strings.HasPrefix(line, "#"):
			*list = append(*list, strings.Fields(line)...)
		}
	}
	n.common = slices.Concat(n.named, n.common)
	return n
}

// Means returns the name that a name is most likely a slip of: one letter is added, left
// out, replaced or swapped with the next. It is "" for names that many use.
func (n *Names) Means(name string) string {
	if slices.Contains(n.common, name) || slices.Contains(n.alike, name) {
		return ""
	}
	return nearest(n.common, name, 1)
}

// Nearest returns the name, of those that programs use, that one may mean which the registry
// does not have, "" if there is none.
func (n *Names) Nearest(name string) string { return nearest(n.named, name, min(len(name)/4, 2)) }

func nearest(list []string, name string, most int) (best string) {
	for _, known := range list {
		if len(known) < minLength {
			continue
		}
		if d := distance(name, known); d <= most {
			best, most = known, d-1
		}
	}
	if best == name {
		return ""
	}
	return best
}

// Why is the reason why a package is not installed whose name may be a slip.
func Why(means string) string {
	return "its name is one letter from " + means + ", so nothing is fetched: if it is meant all the same, give its name in packages"
}

// distance returns how many letters must be added, left out, replaced or swapped with the
// next to make b of a, at most 3.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 || len(a) > 50 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
