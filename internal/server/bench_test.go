package server

import (
	"strings"
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

// BenchmarkLargeCall is what it adds when the arguments are 11 MB.
func BenchmarkLargeCall(b *testing.B) {
	c := connect(b, newServer(b, Config{Runners: allLanguages(runFunc(echo))}))
	c.hello()
	line := strings.Replace(callLine("1", "print(1)"), `"code":`, `"stdin":"`+strings.Repeat("some text; ", 1<<20)+`","code":`, 1)
	b.ReportAllocs()
	for b.Loop() {
		c.send(line)
		if r := c.receive(); r.Result.IsError {
			b.Fatal(r.line)
		}
	}
	c.end()
}
