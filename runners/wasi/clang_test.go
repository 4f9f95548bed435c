package wasi_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/internal/testchild"
	"coderunner/runners"
	"coderunner/runners/wasi"
	"coderunner/runners/wasi/engine"
)

var compiled = []program{
	{name: "hello", lang: runners.C, args: []string{"a", "-b"}, stdin: "6 7", code: `#include <stdio.h>
#include <stdlib.h>
#include "n.h"
int main(int argc, char **argv) {
  int a, b; scanf("%d %d", &a, &b);
  FILE *f = fopen("out.txt", "w"); fputs("kept", f); fclose(f);
  printf("%s %s %s %d %d\n", argv[0], argv[1], argv[2], a * b, N);
  fprintf(stderr, "err\n"); exit(3);
}`, files: map[string]string{"n.h": "#define N 5\n"}, status: runners.Failed, exit: 3, stdout: "main.c a -b 42 5\n", stderr: "err\n"},
	{name: "again", lang: runners.C, code: "#include \"n.h\"\nint puts(const char *);\nint main(void) { puts(N); }", files: map[string]string{"n.h": "#define N \"one\"\n"}, stdout: "one\n"},
	{name: "again", lang: runners.C, code: "#include \"n.h\"\nint puts(const char *);\nint main(void) { puts(N); }", files: map[string]string{"n.h": "#define N \"two\"\n"}, stdout: "two\n"},
	{name: "undeclared", lang: runners.C, code: "int main(void) {\n  return x;\n}", status: runners.Failed, exit: 1, kind: "CompileError", message: "use of undeclared identifier 'x'", line: 2,
		stderr: "main.c:2:10: error: use of undeclared identifier 'x'\n    2 |   return x;\n      |          ^\n"},
	{name: "undefined", lang: runners.C, code: "int f(void);\nint main(void) { return f(); }", status: runners.Failed, exit: 1, kind: "CompileError", message: "undefined symbol: f"},
	{name: "trap", lang: runners.C, code: "int bad(volatile int *p, int n) { return n ? bad(p, n - 1) + bad(p, n - 2) : *p; }\nint main(int argc, char **argv) { return bad((int *)0xfffffff0, argc); }", status: runners.Failed, exit: 134, kind: "Trap", message: "out of bounds", line: 1, stderr: "    in bad (main.c:1)\n"},
	{name: "lines", lang: runners.C, files: map[string]string{"part.h": "static inline int part(volatile int *p, int n) {\n  return p[n];\n}\n"},
		code:   "#include \"part.h\"\n__attribute__((noinline)) int half(volatile int *p, int n) {\n  return part(p, n) + 1;\n}\nint main(int argc, char **argv) {\n  return half((int *)0xfffffff0, argc);\n}\n",
		status: runners.Failed, exit: 134, kind: "Trap", message: "out of bounds", line: 3, stderr: "main.c: out of bounds memory access\n    in part (part.h:2)\n    in half (main.c:3)\n    in main (main.c:6)\n"},
	{name: "deep", lang: runners.C, code: "int f(int n) {\n  int a = f(n + 1);\n  return a * f(n - a) + 1;\n}\nint main(int argc, char **argv) { return f(argc); }\n",
		status: runners.Failed, exit: 134, kind: "Trap", message: "stack overflow", stderr: "    in f (main.c:2)\n    in f (main.c:2)\n"},
	{name: "changes its source", lang: runners.C, code: "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n  fclose(fopen(\"main.c\", \"w\"));\n  abort();\n}\n",
		status: runners.Failed, exit: 134, kind: "Trap", message: "unreachable", stderr: "    in __original_main\n"},
	{name: "recursion", lang: runners.C, code: "int f(volatile int *p) { volatile int x = *p; return f(&x) + x; }\nint main(void) { int x = 1; return f(&x); }", status: runners.Failed, exit: 134, kind: "Trap"},
	{name: "endless", lang: runners.C, code: "int main(void) { for (volatile int i = 0;; i++); }", limits: runners.Limits{Timeout: time.Second}, status: runners.TimedOut, exit: 137},
	{name: "malloc until failure", lang: runners.C, code: "#include <stdlib.h>\n#include <string.h>\nchar *volatile p;\nint main(void) { int n = 0; for (; (p = malloc(1 << 20)); n++) memset(p, 1, 1 << 20); return n > 16 ? 9 : 1; }", limits: runners.Limits{Memory: 256 << 20}, status: runners.Failed, exit: 9},
	{name: "a gigabyte", lang: runners.C, code: "static volatile char a[1 << 30];\nint main(int argc, char **argv) { return a[argc]; }", status: runners.OutOfMemory, exit: 137},
	{name: "flood", lang: runners.C, code: "#include <stdio.h>\nint main(void) { for (;;) puts(\"again and again\"); }", limits: runners.Limits{Output: 1000}, status: runners.OutputLimit, exit: 137},
	{name: "elsewhere", lang: runners.C, code: "#include \"/etc/shadow\"\nint main(void) {}", status: runners.Failed, exit: 1, kind: "CompileError", message: "'/etc/shadow' file not found", line: 1},
	{name: "includes itself", lang: runners.C, code: "#include __FILE__\nint main(void) {}", status: runners.Failed, exit: 1, kind: "CompileError", message: "nested too deeply"},
	{name: "incbin", lang: runners.C, code: "__asm__(\".incbin \\\"/etc/shadow\\\"\");\nint main(void) {}", status: runners.Failed, exit: 1, kind: "CompileError"},

	{name: "exception", lang: runners.CPP, code: "#include <stdexcept>\n#include <vector>\nint main() { try { std::vector<int>().at(1); } catch (std::out_of_range &) { throw std::runtime_error(\"bad\"); } }",
		status: runners.Failed, exit: 134, kind: "std::runtime_error", message: "bad", stderr: "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad\n"},
	{name: "method", lang: runners.CPP, code: "#include <cstdlib>\n#include <vector>\nstruct Shape {\n  std::vector<int> v;\n  int at(size_t i) const;\n};\n__attribute__((noinline)) int Shape::at(size_t i) const {\n  if (i >= v.size())\n    abort();\n  return v[i];\n}\nint main(int argc, char **) {\n  return Shape{{1, 2}}.at(argc + 5);\n}\n",
		status: runners.Failed, exit: 134, kind: "Trap", message: "unreachable", line: 9, stderr: "    in Shape::at(unsigned long) const (main.cpp:9)\n    in main (main.cpp:13)\n"},
	{name: "templates", lang: runners.CPP, code: "template <int N> struct A { static const int v = A<N + 1>::v; };\nint main() { return A<0>::v; }", status: runners.Failed, exit: 1, kind: "CompileError", message: "recursive template instantiation", line: 1},
	{name: "names of the library", lang: runners.CPP, code: "#include <iostream>\nusing namespace std;\nint mt19937 = 3;\nint main() { cout << mt19937 << endl; }", stdout: "3\n"},
}

// long is the time of programs that do not end by it: a machine may be busy.
const long = 10 * time.Minute

// TestC has programs of C and C++. Their compiler takes minutes to be compiled itself.
func TestC(t *testing.T) {
	sample.Long(t)
	rs := newRunners(t)
	for _, p := range compiled {
		p.limits.Timeout = cmp.Or(p.limits.Timeout, long)
		t.Run(string(p.lang)+" "+p.name, func(t *testing.T) { p.run(t, rs) })
	}
	o, err := rs[runners.C].Run(t.Context(), runners.Request{Language: runners.C, Limits: runners.Limits{Timeout: long}, Code: "int main(void) { return \"text\"; }"})
	if err != nil || o.Status != runners.Failed || !strings.Contains(o.Note, "main.c:1:25: error: incompatible pointer to integer") && o.Error == nil {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = rs[runners.C].Run(t.Context(), runners.Request{Language: runners.C, Limits: runners.Limits{Timeout: long}, Code: "int main(void) { 1 == 2; return 0; }"})
	if err != nil || o.Status != runners.Succeeded || !strings.HasPrefix(o.Note, "main.c:1:20: warning: ") || o.Stderr != "" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestCCommands has the compiler as commands of bash.
func TestCCommands(t *testing.T) {
	sample.Long(t)
	rs := newRunners(t)
	o, err := rs[runners.Bash].Run(t.Context(), runners.Request{Language: runners.Bash, Limits: runners.Limits{Timeout: long}, Code: `
mkdir include; echo '#define GREETING "hi"' > include/g.h
echo 'double root(double x) { return __builtin_sqrt(x) + N; }' > root.c
printf '#include <stdio.h>\n#include <math.h>\n#include <g.h>\ndouble root(double);\nint main(void) { printf("%%s %%g\\n", GREETING, root(cos(0))); return 4; }\n' > main.c
gcc -c -DN=2 root.c && ar rcs libroot.a root.o && gcc -O2 -Wall -Iinclude main.c -L. -lroot -lm -o main && ./main; echo $?
cc -c -Iinclude -std=c11 main.c -o main.o && cc main.o root.o && ./a.out; echo $?
echo 'int main() { return []{ return 5; }(); }' > x.cc; g++ x.cc -o x && ./x; echo $?
printf '#include <iostream>\n#include <vector>\nint main() { std::cout << "of " << std::vector<int>(6).size() << std::endl; }\n' > y.cc; g++ -Wall -O2 -std=gnu++20 -c y.cc && g++ y.o -o y && ./y
cc main.c; echo $?; cc -shared root.c; cc gone.c; cc -o /proc/out root.c main.c -Iinclude -DN=1; cc; echo $?
python3 -c 'import subprocess; print(subprocess.run(["cc", "-Iinclude", "-DN=3", "-o", "py", "main.c", "root.c"]).returncode, subprocess.run("./py").returncode)'
ls`})
	want := []string{"hi 3\n4\nhi 3\n4\n5\nof 6\n1\n1\n", "0 4\n", "a.out\ninclude\nlibroot.a\nmain\nmain.c\nmain.o\npy\nroot.c\nroot.o\nx\nx.cc\ny\ny.cc\ny.o\n"}
	for _, w := range want {
		if err != nil || !strings.Contains(o.Stdout, w) {
			t.Fatalf("no %q in %+v, %v", w, o, err)
		}
	}
	for _, w := range []string{"main.c:3:10: fatal error: 'g.h' file not found", "cc: error: -shared: shared libraries cannot be loaded here", "no such file or directory: 'gone.c'", "/proc/out", "cc: error: no input files"} {
		if !strings.Contains(o.Stderr, w) {
			t.Errorf("no %q in %q", w, o.Stderr)
		}
	}
}

// TestCLines wants traps of what cc has built with -g to have lines, and the source's line if that
// is there: of functions in two files, and one that was inlined.
func TestCLines(t *testing.T) {
	sample.Long(t)
	o, err := newRunners(t)[runners.Bash].Run(t.Context(), runners.Request{Language: runners.Bash, Limits: runners.Limits{Timeout: long}, Code: `
printf 'static inline int part(volatile int *p, int n) {\n  return p[n];\n}\n' > part.h
printf 'int half(volatile int *, int);\nint main(int argc, char **argv) {\n  return half((int *)0xfffffff0, argc);\n}\n' > a.c
printf '#include "part.h"\nint half(volatile int *p, int n) {\n  return part(p, n) + 1;\n}\n' > b.c
cc -g -O2 a.c b.c -o with; cc -O2 a.c b.c -o without; ./with; ./without; cd /tmp; $OLDPWD/with`})
	const with = "with: out of bounds memory access\n    in part (part.h:2)\n    in half (b.c:3)\n    in main (a.c:3)\n"
	for _, w := range []string{"./" + with, "    2 |   return p[n];\n", "./without: out of bounds memory access\n    in main\n", "/" + with} {
		if err != nil || !strings.Contains(o.Stderr, w) {
			t.Errorf("no %q in %+v, %v", w, o, err)
		}
	}
}

// TestTutorials runs programs here and as the machine's own compiler makes them.
func TestTutorials(t *testing.T) {
	sample.Long(t)
	list, err := filepath.Glob("testdata/c/*.c*")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	testchild.Ordinary()
	rs := newRunners(t)
	const stdin = "6 7 word\nsecond\nlast\n"
	for _, file := range list {
		t.Run(filepath.Base(file), func(t *testing.T) {
			compiler, flags, lang := "gcc", []string{"-w", "-O1"}, runners.C
			if filepath.Ext(file) == ".cpp" {
				compiler, flags, lang = "g++", []string{"-w", "-O1", "-std=gnu++20"}, runners.CPP
			}
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skip(err)
			}
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			native, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			bin := filepath.Join(t.TempDir(), "program")
			cmd := exec.CommandContext(t.Context(), compiler, append(flags, native, "-o", bin, "-lm")...)
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%s does not compile it: %v\n%s", compiler, err, b)
			}
			var stdout bytes.Buffer
			cmd = exec.CommandContext(t.Context(), bin, "a", "b")
			cmd.Dir, cmd.Stdin, cmd.Stdout = t.TempDir(), strings.NewReader(stdin), &stdout
			exit := 0
			if err := cmd.Run(); err != nil {
				failed, ok := errors.AsType[*exec.ExitError](err)
				if !ok {
					t.Fatal(err)
				}
				exit = failed.ExitCode()
			}
			o, err := rs[lang].Run(t.Context(), runners.Request{Language: lang, Limits: runners.Limits{Timeout: long}, Code: string(code), Args: []string{"a", "b"}, Stdin: strings.NewReader(stdin)})
			if err != nil || o.ExitCode != exit || o.Stdout != stdout.String() {
				t.Errorf("%v, %d %q and %q, %+v\nnatively %d %q", err, o.ExitCode, o.Stdout, o.Stderr, o.Error, exit, stdout.String())
			}
		})
	}
}

// TestOnlyC has C without the language wasm: what it makes can be executed all the same.
func TestOnlyC(t *testing.T) {
	g := wasi.New(engine.New(engine.Config{}), []runners.Language{runners.C})
	if list := g.Languages(); len(list) != 1 || list[0] != runners.C {
		t.Errorf("languages %v", list)
	}
	if name := g.Formats()["\x00asm"]; name != "wasm" || !slices.Contains(g.Commands(), name) || !slices.Contains(g.Commands(), "gcc") {
		t.Errorf("modules are run by %q, of %v", name, g.Commands())
	}
}
