package sample

import (
	"slices"
	"strconv"
	"testing"
)

func TestOf(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	var taken []int
	for day := 20_000; day < 20_003; day++ {
		t.Setenv("CODERUNNER_DAY", strconv.Itoa(day))
		part := Of(t, 3, all)
		if want := len(all)/3 + 1; len(part) > want && !All {
			t.Errorf("day %d: %v, want at most %d", day, part, want)
		}
		taken = append(taken, part...)
	}
	slices.Sort(taken)
	if taken = slices.Compact(taken); !slices.Equal(taken, all) {
		t.Errorf("three days take %v, want %v", taken, all)
	}
}
