package queue

import "testing"

func TestAdmitted(t *testing.T) {
	for _, tt := range []struct {
		cores         int
		limit, memory int64
		want          int
	}{
		{2, 512 << 20, 24 << 30, 8},
		{2, 512 << 20, 0, 8},
		{8, 512 << 20, 4 << 30, 6},
		{2, 4 << 30, 24 << 30, 4},
		{2, 64 << 30, 1 << 30, 1},
	} {
		if got := defaultPlaces(tt.cores, tt.limit, tt.memory); got != tt.want {
			t.Errorf("defaultPlaces(%d, %d, %d) = %d, want %d", tt.cores, tt.limit, tt.memory, got, tt.want)
		}
	}
}
