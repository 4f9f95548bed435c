package jsparse

import "testing"

func TestIncomplete(t *testing.T) {
	for source, want := range map[string]bool{
		"": false, "1": false, "f()": false, "x++": false, "x!": false, "a;": false, "const s = 'x'": false, "{ a }": false, "// {": false, "x => x": false, "/re/": false, "'abc": false,
		"{": true, "f(": true, "[1,": true, "const x =": true, "x =>": true, "a &&": true, "`a": true, "`a${": true, "/* a": true, "if (a) {\n": true, "f({ a: [": true, "a +\n": true, "a ? b :": true, "f(1,\n": true,
		")": false, "let let": false,
	} {
		if got := Incomplete(source); got != want {
			t.Errorf("Incomplete(%q) = %v, want %v", source, got, want)
		}
	}
}

func TestUnclosed(t *testing.T) {
	for source, want := range map[string]int{"f(\n": 1, "a;\nif (b) {\n  c([1])\n": 2, "f(`${\n": 0, "a)": 0, "f()": 0, "'abc": 1, "f(1);\nf('a, b);\nf('c')": 2, "[\n{\n}": 1} {
		if bracket, line := Unclosed(source); line != want || (bracket == "") != (want == 0) {
			t.Errorf("Unclosed(%q) = %q, %d, want line %d", source, bracket, line, want)
		}
	}
}
