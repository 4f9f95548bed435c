package deno

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A second process is given the input from its start, also what was read while
// the first ended, and no goroutine reads at the same time as another.
func TestStdinIsReplayed(t *testing.T) {
	r, w := io.Pipe()
	s := &stdin{r: r}
	first, pipe := io.Pipe()
	stopped := make(chan struct{})
	go func() { s.copy(pipe); close(stopped) }()
	write := func(text string) {
		if _, err := io.WriteString(w, text); err != nil {
			t.Error(err)
		}
	}
	write("one ")
	if _, err := io.ReadFull(first, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	first.Close() // the process ends; its copy still reads
	var got bytes.Buffer
	done := make(chan struct{})
	go func() { s.copy(&got); close(done) }()
	write("two ")
	write("three")
	w.Close()
	<-stopped
	<-done
	if got.String() != "one two three" {
		t.Errorf("the second process read %q", got.String())
	}
}

// What cannot be replayed any more is not kept.
func TestStdinIsBounded(t *testing.T) {
	text := strings.Repeat("x", 3*replayed)
	s := &stdin{r: strings.NewReader(text)}
	var got bytes.Buffer
	s.copy(&got)
	if got.String() != text || len(s.head) > replayed {
		t.Errorf("copied %d of %d bytes and kept %d", got.Len(), len(text), len(s.head))
	}
}
