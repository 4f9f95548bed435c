package runners

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestParseLanguage(t *testing.T) {
	for name, want := range map[string]Language{
		"python": Python, "Python": Python, "PY": Python, "python3": Python, "python3.14": Python,
		"javascript": JavaScript, "js": JavaScript, "node": JavaScript, "JavaScript": JavaScript,
		"typescript": TypeScript, "ts": TypeScript, " deno ": TypeScript, "jsx": JSX, "TSX": TSX,
		"c": C, "gcc": C, "C++": CPP, "c++20": CPP, "cxx": CPP, "cc": CPP,
		"": "", "cobol": "", "3": "", "...": "",
	} {
		if got := ParseLanguage(name); got != want {
			t.Errorf("ParseLanguage(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDetect(t *testing.T) {
	for code, want := range map[string]Language{
		"": "", "1 + 1": "", "x": "", `"abc"`: "", "# only a comment": "",
		"\n<?php\nimport_it();\nprint(1)":              PHP,
		"print('hi')":                                  Python,
		"import json":                                  Python,
		"[x * 2 for x in range(3)]":                    Python,
		"if x == 1:\n    y = 2\n":                      Python,
		"#!/usr/bin/env python3\nx":                    Python,
		"js = '''\nconst a = () => 1;\n'''\nprint(js)": Python,
		"Here is it:\n\n```python\nprint('a')\n```\n":  Python,
		"console.log(1)":                               JavaScript,
		"process.exitCode = 0":                         JavaScript,
		"process.exit(3)":                              JavaScript,
		"await Deno.readDir(x)":                        JavaScript,
		"process = 3\nprint(process.exitcode)":         Python,
		"const a = 1":                                  JavaScript,
		"import fs from 'node:fs'":                     JavaScript,
		"#!/usr/bin/env -S node --x\ny":                JavaScript,
		"#!/usr/bin/env deno\ny":                       TypeScript,
		"const py = `\ndef f():\n    pass\nprint(1)\n`; console.log(py)": JavaScript,
		"let x: number = 1;": TypeScript,
		"const t = document.querySelector('a')!.textContent;":        TypeScript,
		"interface A { b: string }\nconst a: A = {b: \"\"};":         TypeScript,
		"function f<T>(x: T): T { return x; }\nf<string>('a');":      TypeScript,
		"const a = <div>hello</div>;":                                JSX,
		"export function A({x}: {x: string}) { return <p>{x}</p>; }": TSX,
		"#!/bin/sh\nls":                           Bash,
		"ls -la | grep txt":                       Bash,
		"for f in *.txt; do\n  echo \"$f\"\ndone": Bash,
		"set -euo pipefail\nx=$(date)\necho $x":   Bash,
		"if [ -f a ]; then rm a; fi":              Bash,
		"echo hello":                              Bash,
		"// hello\n#include <stdio.h>\nint main(void) { puts(\"hi\"); }":         C,
		"int main() { for (;;) ; return 0; }":                                    C,
		"#define N 3\n#include \"a.h\"\nint main(int c, char **v) { return N; }": C,
		"#include <iostream>\nint main() { std::cout << 1; }":                    CPP,
		"#include <stdio.h>\nclass A { public: int x; };\nint main() {}":         CPP,
		"cat > x.c <<'EOF'\n#include <stdio.h>\nint main() {}\nEOF\ncc x.c":      Bash,
		"#define a thing\nimport os\nprint(os.name)":                             Python,
		"code = '''\n#include <stdio.h>\nint main() {}\n'''\nprint(code)":        Python,
		"cat = 5\nfind = cat + 1\nsort = [cat]":                                  Python,
	} {
		if got := Detect(code); got != want {
			t.Errorf("Detect(%q) = %q, want %q", code, got, want)
		}
		if got := LooksTyped(code); got != (want == TypeScript || want == TSX) {
			t.Errorf("LooksTyped(%q) = %t", code, got)
		}
	}
}

// Of the programs in this tree none is taken for one of the other family, and
// nine of ten that have three lines or more are recognised.
func TestDetectPrograms(t *testing.T) {
	total, unclear := 0, 0
	check := func(name, ext, code string) {
		if strings.Count(strings.TrimSpace(code), "\n") < 2 {
			return
		}
		got := Detect(code)
		total++
		if typed := LooksTyped(code); typed != (got == TypeScript || got == TSX) {
			t.Errorf("%s: Detect = %q, LooksTyped = %t", name, got, typed)
		}
		if got == "" {
			unclear++
		} else if (got == Python) != (ext == ".py") || got == Bash {
			t.Errorf("%s: Detect = %q", name, got)
		}
	}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".py" && ext != ".ts" && ext != ".js" && ext != ".txtar" {
			return err
		}
		data, err := os.ReadFile(path)
		if ext != ".txtar" {
			check(path, ext, string(data))
			return err
		}
		for _, f := range txtar.Parse(data).Files {
			if ext := filepath.Ext("." + filepath.Base(f.Name)); ext == ".py" || ext == ".ts" || ext == ".js" {
				check(path+":"+f.Name, ext, string(f.Data))
			}
		}
		return err
	})
	if err != nil || total < 200 || unclear > total/10 {
		t.Errorf("%d of %d programs are unclear; %v", unclear, total, err)
	}
}

func TestExplainLanguage(t *testing.T) {
	o := &Outcome{Status: Failed, Error: &Error{Type: "SyntaxError", Message: "invalid syntax"}}
	ExplainLanguage(Request{Language: Python, Code: "const a = 1;\nconsole.log(a)"}, o)
	if want := "invalid syntax; the program looks like javascript, but was run as python"; o.Error.Message != want {
		t.Errorf("message %q, want %q", o.Error.Message, want)
	}
	o = &Outcome{Status: Failed, Error: &Error{Type: "SyntaxError", Message: "x"}}
	ExplainLanguage(Request{Language: Python, Code: "def f(:\n    pass"}, o)
	if o.Error.Message != "x" {
		t.Errorf("message %q of a Python program", o.Error.Message)
	}
}
