package server

import (
	"testing"
)

// BenchmarkCall is what the server adds to a run.
func BenchmarkCall(b *testing.B) {
	c := connect(b, newServer(b, Config{Runners: allLanguages(runFunc(echo))}))
	c.hello()
	for b.Loop() {
		c.send(callLine("1", "print(1)"))
		if r := c.receive(); r.Result.IsError {
			b.Fatal(r.line)
		}
	}
	c.end()
}
