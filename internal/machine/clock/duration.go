package clock

import (
	"math"
	"strconv"
	"time"
)

// Duration reads a number with the suffix s, m, h or d.
func Duration(s string) (time.Duration, bool) {
	unit, number := time.Second, s
	if s != "" {
		if u := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]; u != 0 {
			unit, number = u, s[:len(s)-1]
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || math.IsNaN(f) {
		return 0, false
	}
	return time.Duration(min(f*float64(unit), float64(math.MaxInt64)/2)), true
}
