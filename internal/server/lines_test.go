package server

import (
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineReader(t *testing.T) {
	in := "one\r\n\ntwo\n" + strings.Repeat("x", 10) + "\n" + strings.Repeat("y", 11) + "\nlast"
	l := newLineReader(iotest.OneByteReader(strings.NewReader(in)), 10)
	for _, want := range []string{"one", "", "two", "xxxxxxxxxx", "!", "last"} {
		line, err := l.next()
		if want == "!" {
			if err == nil {
				t.Errorf("a line of 11 bytes: %q", line)
			}
			continue
		}
		if err != nil || string(line) != want {
			t.Errorf("next = %q, %v; want %q", line, err, want)
		}
	}
	if _, err := l.next(); err == nil {
		t.Error("no end")
	}
}
