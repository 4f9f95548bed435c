package deps

import "coderunner/runners/deno/npm"

// misspelt returns which well-known package a name that npm does not have may mean, as
// what to append to the reason, or "".
func misspelt(name string) string {
	best, least := "", 1+min(len(name)/4, 2)
	for _, known := range npm.Known().WellKnown {
		if d := distance(name, known); d < least {
			best, least = known, d
		}
	}
	if best == "" || best == name {
		return ""
	}
	return ": did you mean " + best + "?"
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
