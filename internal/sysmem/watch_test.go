package sysmem

import "testing"

// TestWatch takes memory until it is too much, and goes on.
func TestWatch(t *testing.T) {
	const limit = 32 << 20
	over := make(chan bool, 2)
	stop := Watch(limit, func(again bool) { over <- again })
	var held [][]byte
	for done := false; !done && len(held) < 1<<10; {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
		select {
		case done = <-over:
		default:
		}
	}
	if peak := stop(); peak < limit+further || len(held) == 1<<10 {
		t.Errorf("it had %d MiB of %d", peak>>20, len(held))
	}
}
