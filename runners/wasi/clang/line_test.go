package clang

import (
	"fmt"
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for args, want := range map[string]string{
		"x.c":                      "a.out [] x.c",
		"-O2 x.c -o x -lm":         "x [-O2] x.c [-lm]",
		"-ox a.o -L. -lz x.c":      "x [] [a.o] [-L.] [-lz] x.c",
		"-I inc -D N=1 x.c":        "a.out [-I inc -D N=1] x.c",
		"-march=native -pthread x": "a.out [] x",
		"-x c++ x -Wl,-z,x":        "a.out [] -x c++ x [-z x] c++",
		"x.cc -lstdc++ -l pthread": "a.out [] x.cc [-lc++ -lc++abi] c++",
		"-c a.c -o b.o -fPIC":      "alone [-c a.c -o b.o]",
		"--version":                "alone [--version]",
		"-v":                       "alone [-v]",
		"":                         "error no input files",
		"-lm":                      "error no input files",
		"x.c -o":                   "error argument to '-o' is missing",
		"-fuse-ld=gold x.c":        "error -fuse-ld=gold: the linker is wasm-ld",
		"-Xclang -load x.c":        "error -load: plugins",
		"-fplugin=x.so x.c":        "error -fplugin=x.so: plugins",
		"-shared x.c":              "error -shared: shared libraries",
	} {
		got := ""
		if l, err := parse(strings.Fields(args), false); err != nil {
			got = "error " + err.Error()
		} else if l.alone != nil {
			got = fmt.Sprint("alone ", l.alone)
		} else {
			got = fmt.Sprint(l.out, " ", l.compile)
			for _, in := range l.inputs {
				if in.source == "" {
					got += fmt.Sprint(" ", in.link)
				} else {
					got += " " + strings.Join(append(in.before, in.source), " ")
				}
			}
			if l.cxx {
				got += " c++"
			}
		}
		if got != want && !(strings.HasPrefix(want, "error") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestDiagnoses(t *testing.T) {
	const said = "x.c:3:5: warning: unused [-Wunused]\n   3 | x\nx.c:7:2: warning: again\nIn file included from x.c:1:\nn.h:2:1: error: unknown type name 'foo'\n"
	if got := warnings([]byte(said)); got != "x.c:3:5: warning: unused [-Wunused] (and 1 more)" {
		t.Errorf("warnings: %s", got)
	}
	for said, want := range map[string]string{
		said: "n.h:2: unknown type name 'foo' 0",
		"x.c:4:2: fatal error: 'a.h' file not found\n":          "'a.h' file not found 4",
		"wasm-ld: error: /tmp/.cc-3-0.o: undefined symbol: f\n": "undefined symbol: f 0",
		"": "the compiler ended without a word of why 0",
	} {
		if e := firstError([]byte(said), "x.c"); fmt.Sprint(e.Message, " ", e.Line) != want {
			t.Errorf("%q: %+v, want %s", said, e, want)
		}
	}
}
