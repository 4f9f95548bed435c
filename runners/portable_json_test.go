package runners

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClip(t *testing.T) {
	long := strings.Repeat("x", 99)
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"ab" + long + "gh", 4, "ab\n… 99 bytes cut …\ngh"},
		{"é" + long + "é", 3, "\n… 101 bytes cut …\né"},
		{"é" + long + "é", 4, "é\n… 99 bytes cut …\né"},
		{long[:36], 4, long[:36]}, // the mark would take as much
	} {
		if got := Clip(tt.in, tt.max); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
	if got, want := ClipLine("ab"+long+"gh", 4), "ab … 99 bytes cut … gh"; got != want {
		t.Errorf("ClipLine() = %q, want %q", got, want)
	}
}

func TestPortableJSON(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tt := range []struct{ in, want string }{ // "": none
		{"7", "7"},
		{` {"a": [1, "b" , null],"c":{"a":-0}} `, `{"a":[1,"b",null],"c":{"a":-0}}`},
		{"", ""}, {"{", ""}, {"NaN", ""}, {"01", ""}, {"1 2", ""}, {"[1,]", ""},
		{nested(100), nested(100)}, {nested(101), ""},
		{strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101), ""},
		{`[[],[],` + nested(99) + `]`, `[[],[],` + nested(99) + `]`},
		// Numbers.
		{"1e308", "1e308"}, {"1e309", ""}, {"-1e400", ""}, {"1e-400", "1e-400"},
		{"18446744073709551616", "18446744073709551616"},
		{strings.Repeat("9", 308), strings.Repeat("9", 308)},
		{strings.Repeat("9", 310), ""}, {strings.Repeat("9", 5000), ""},
		{"0." + strings.Repeat("0", 5000) + "1", ""},
		{`{"a":[1,2e999]}`, ""},
		// Strings.
		{`"\ud800"`, `"�"`}, {`"\uDC00x\uD800"`, `"�x�"`},
		{`"\ud83d\ude00"`, `"😀"`}, {`"\\ud800"`, `"\\ud800"`}, {`"\ud7ff\u0000\n"`, "\"\ud7ff\\u0000\\n\""},
		{"\"\xff\"", `"�"`}, {"\"\xed\xa0\x80\"", `"���"`},
		// Names.
		{`{"a":1,"a":2}`, ""}, {`{"a":1,"\u0061":2}`, ""}, {`{"\ud800":1,"\ud801":2}`, ""},
		{`{"\ud800":"\ud800"}`, `{"�":"�"}`},
		{`{"a":{"a":1},"b":["a","a",{"a":1}]}`, `{"a":{"a":1},"b":["a","a",{"a":1}]}`},
	} {
		got := PortableJSON([]byte(tt.in))
		if string(got) != tt.want {
			t.Errorf("PortableJSON(%.60s) = %.60s, want %.60s", tt.in, got, tt.want)
		}
	}
}

func TestNewValue(t *testing.T) {
	if v := NewValue(strings.Repeat("x", 100), strings.Repeat("1", 11), 10); v.JSON != nil || !strings.Contains(v.Text, "90 bytes cut") {
		t.Errorf("%+v", v)
	}
	if v := NewValue("7", "7", 10); string(v.JSON) != "7" || v.Text != "7" {
		t.Errorf("%+v", v)
	}
	if v := NewValue("a", "", 10); v.JSON != nil {
		t.Errorf("%+v", v)
	}
}

// Whatever comes out is JSON that means what went in, in the bounds that every
// parser has, and comes out again as it is.
func FuzzPortableJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"\ud800x",null,true],"b":{}}`, `"\u00e9\\"`, `[[[]]]`, `{"a":1,"a":2}`, "\"\xff\"", `1e400`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		was := bytes.Clone(in)
		out := PortableJSON(in)
		if !bytes.Equal(was, in) {
			t.Fatalf("%q was changed", was)
		}
		if out == nil {
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if again := PortableJSON(out); !bytes.Equal(again, out) {
			t.Fatalf("%q became %q and then %q", in, out, again)
		}
		var before, after any
		if json.Unmarshal(in, &before) != nil || json.Unmarshal(out, &after) != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", in, out)
		}
		if d := depth(after); d > maxJSONDepth {
			t.Fatalf("%q is %d deep", out, d)
		}
		if surrogate.Match(out) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

// surrogate finds one that is written as an escape.
var surrogate = regexp.MustCompile(`(?i)(^|[^\\])(\\\\)*\\ud[89a-f]`)

func depth(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, depth(e))
		}
		return n + 1
	case map[string]any:
		for _, e := range v {
			n = max(n, depth(e))
		}
		return n + 1
	}
	return 0
}
