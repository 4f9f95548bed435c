package system

import (
	"strings"
	"testing"
	"time"
)

// TestCal: a month as util-linux prints it, whatever it begins with.
func TestCal(t *testing.T) {
	february := time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)
	sunday := "   February 2024    \nSu Mo Tu We Th Fr Sa\n             1  2  3\n 4  5  6  7  8  9 10\n11 12 13 14 15 16 17\n18 19 20 21 22 23 24\n25 26 27 28 29      \n                    "
	monday := "      February      \nMo Tu We Th Fr Sa Su\n          1  2  3  4\n 5  6  7  8  9 10 11\n12 13 14 15 16 17 18\n19 20 21 22 23 24 25\n26 27 28 29         \n                    "
	if got := strings.Join(calLines(february, true, false), "\n"); got != sunday {
		t.Errorf("%s\nwant\n%s", got, sunday)
	}
	if got := strings.Join(calLines(february, false, true), "\n"); got != monday {
		t.Errorf("%s\nwant\n%s", got, monday)
	}
}
