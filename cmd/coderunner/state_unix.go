//go:build unix

package main

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/metrics"
	"syscall"

	"go.uber.org/zap"
)

// tellState logs, for each SIGUSR1, what the server holds: for operators, and
// for tests that look for leaks.
func tellState(log *zap.Logger) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			metrics.Read(heap)
			log.Info("state", zap.Int("goroutines", runtime.NumGoroutine()), zap.Uint64("heap_bytes", heap[0].Value.Uint64()))
		}
	}()
}
