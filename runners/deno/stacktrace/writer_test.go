package stacktrace

import (
	"bytes"
	"strings"
	"testing"

	"coderunner/runners/deno/jsparse"
)

// TestWriter has places come in pieces.
func TestWriter(t *testing.T) {
	program := jsparse.Parse("const a = 1\na", jsparse.Options{Main: true})
	l := &Map{Work: "/w/r1/work", URL: "file:///w/r1/work", Cache: "/c", Main: "main.js", Scripts: map[string]Script{
		"main.js": NewScript("my prog.js", program), "sub/x y.js": NewScript("x y.js", jsparse.Plain("\n\n")), "call.js#2": NewScript("call.js", jsparse.Plain("\n\n")),
	}}
	long := strings.Repeat("x", 2*maxPlace)
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{[]string{"a\n", "at (file:///w/r1/work/main.js:1:7)\n"}, "a\nat (my prog.js:1:7)\n"},
		{[]string{"at file:///w/r", "1/work/ma", "in.js:1", ":", "7", " b"}, "at my prog.js:1:7 b"},
		{[]string{"at file:///w/r1/work/main.js:2:31"}, "at my prog.js:2:1"}, // in an edit
		{[]string{"at file:///w/r1/work/main.js:9:9"}, "at my prog.js:2:1"},
		{[]string{"/w/r1/work/sub/x%20y.js:1:2 /w/r1/work/call.js%232:2:3"}, "x y.js:1:2 call.js:2:3"},
		{[]string{`{"stack":"at file:///w/r1/work/lib/a.ts:01:02\n"}`}, `{"stack":"at lib/a.ts:01:02\n"}`},
		{[]string{"file:///w/r1/work/main.js /w/r1/work/ 12:30:05"}, "file:///w/r1/work/main.js /w/r1/work/ 12:30:05"},
		{[]string{"(file:///c/deno/npm/host/@a/b/1.0.0/lib/c.js:3:4) file:///c/trees/x/node_modules/d/e.js:5:6"}, "(node_modules/@a/b/lib/c.js:3:4) node_modules/d/e.js:5:6"},
		{[]string{"file:///w/r2/work/main.js:1:1"}, "file:///w/r2/work/main.js:1:1"},
		{[]string{"file:///" + long, "y"}, "file:///" + long + "y"},
		{[]string{" at require (node:module:5:3510)\n    at file:///w/r1/work/main.js:7:9\nb"}, " at require (node:module:5:3510)\nb"},
		{[]string{"\xff\x00file://", ""}, "\xff\x00file://"},
	} {
		var got bytes.Buffer
		p := l.NewWriter(&got)
		for _, text := range tt.writes {
			if _, err := p.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if p.End(); got.String() != tt.want {
			t.Errorf("%.200q: %.200q, want %.200q", tt.writes, got.String(), tt.want)
		}
	}
}
