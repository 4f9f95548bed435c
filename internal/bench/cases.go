package main

import (
	"path"
	"strings"
)

const (
	helloPython     = "print('hello')\n"
	helloTypeScript = "const who: string = \"hello\";\nconsole.log(who);\n"
	hello           = "hello\n"
)

func (h *hosts) cases() ([]benchCase, error) {
	cases := []benchCase{
		{"stdio/python/1+1", 30, 10, h.calls("python", "1 + 1", "2")},
		{"stdio/python/hello", 30, 10, h.calls("python", helloPython, hello)},
		{"stdio/python/new", 30, 10, h.calls("python", "# + 0", "#")},
		{"stdio/typescript/hello", 30, 5, h.calls("typescript", helloTypeScript, hello)},
		{"first/python/hello", 10, 1, h.first("python", helloPython, hello)},
		{"first/typescript/hello", 20, 1, h.first("typescript", helloTypeScript, hello)},
	}
	for _, name := range []string{"json", "dataclasses", "logging", "asyncio", "sqlite3", "rich", "pydantic", "sympy", "msgpack"} {
		cases = append(cases, benchCase{"imports/python/" + name, 10, 10, h.calls("python", "import "+name+"\n"+helloPython, hello)})
	}
	for _, name := range []string{"zod@3", "lodash@4"} {
		cases = append(cases, benchCase{"imports/typescript/" + name, 10, 5, h.calls("typescript", "import \"npm:"+name+"\";\n"+helloTypeScript, hello)})
	}
	cases = append(cases,
		benchCase{"parallel/python", 4, 1, h.batch("python", "print('marker #')")},
		benchCase{"parallel/typescript", 2, 1, h.batch("typescript", "console.log('marker #')")},
		benchCase{"memory/python", 1, 1, h.alive(100, "python", "import time; time.sleep(4)")},
		benchCase{"memory/typescript", 1, 1, h.alive(10, "typescript", "await new Promise((done) => setTimeout(done, 4000))")})
	programs := []struct{ topic, file, code, want string }{
		{"process/python/", "hello.py", helloPython, hello},
		{"process/typescript/", "hello.ts", helloTypeScript, hello},
	}
	expected, err := files.ReadFile("testdata/cpu/EXPECTED.txt")
	for line := range strings.Lines(string(expected)) {
		file, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		code, _ := files.ReadFile(path.Join("testdata/cpu", file))
		programs = append(programs, struct{ topic, file, code, want string }{"cpu/python/", file, string(code), want})
	}
	for _, p := range programs {
		if err == nil {
			err = h.write(p.file, p.code)
		}
		file := h.file(p.file)
		c := benchCase{name: p.topic + p.file, rounds: 10, burst: 1}
		if p.topic == "cpu/python/" {
			c.rounds = 3
		}
		for _, b := range h.builds {
			c.contenders = append(c.contenders, process(b.name, b.command, p.want, "run", "--timeout", "2m", file))
		}
		if strings.HasSuffix(file, ".py") {
			_, version, _ := strings.Cut(h.builds[0].version, "pyodide ")
			version, _, _ = strings.Cut(version, ",")
			c.contenders = append(c.contenders, process("Pyodide on Deno", h.deno, p.want, "run", "--no-config", "--no-lock", "--allow-all", h.file("pyodide.mjs"), "npm:pyodide@"+version, file))
		} else {
			c.contenders = append(c.contenders, process("deno run", h.deno, p.want, "run", "--no-config", "--no-lock", file))
		}
		cases = append(cases, c)
	}
	return cases, err
}
