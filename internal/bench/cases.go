package main

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	helloPython     = "print('hello')\n"
	helloTypeScript = "const who: string = \"hello\";\nconsole.log(who);\n"
	helloJavaScript = "console.log(\"hello\");\n"
	helloNode       = `import fs from "node:fs"; import { createHash } from "node:crypto";
if (fs.constants && createHash("sha256").update(process.version).digest()) setTimeout(() => console.log("hello"));
`
	hello = "hello\n"
)

func (h *hosts) cases() ([]benchCase, error) {
	cases := []benchCase{
		{"stdio/python/1+1", 30, 10, h.beside("1 + 1", "2")},
		{"stdio/python/hello", 30, 10, h.beside(helloPython, hello)},
		{"stdio/python/new", 30, 10, h.calls("python", "# + 0", "#")},
		{"stdio/bash/echo", 30, 10, h.calls("bash", "echo hello", hello)},
		{"first/python/hello", 10, 1, h.first("python", helloPython, hello)},
		{"first/typescript/hello", 20, 1, h.first("typescript", helloTypeScript, hello)},
	}
	served, err := h.inServer()
	if err != nil {
		return nil, err
	}
	numpy, err := h.numpy()
	if err != nil {
		return nil, err
	}
	cases = append(append(cases, served...), numpy)
	for _, name := range []string{"json", "dataclasses", "logging", "asyncio", "sqlite3", "rich", "pydantic", "sympy", "msgpack", "pandas"} {
		cases = append(cases, benchCase{"imports/python/" + name, 10, 10, h.calls("python", "import "+name+"\n"+helloPython, hello)})
	}
	cases = append(cases, h.firstImports()...)
	cases = append(cases, benchCase{"parallel/python", 4, 1, append(h.batch("python", "print('marker #')"), h.eryx()...)},
		benchCase{"parallel/typescript", 2, 1, append(h.batch("typescript", "console.log('marker #')"), h.sideBySide("hello.ts", hello))},
		benchCase{"memory/python", 1, 1, h.alive(100, "python", "import time; time.sleep(4)")},
		benchCase{"memory/typescript", 1, 1, h.alive(10, "typescript", "await new Promise((done) => setTimeout(done, 4000))")},
		benchCase{"process/version", 20, 1, append(h.processes("version"), process("deno --version", h.deno, "", "--version"))})
	for _, p := range []struct{ language, file, code string }{
		{"javascript", "hello.js", helloJavaScript},
		{"javascript", "node.js", helloNode},
		{"typescript", "hello.ts", helloTypeScript},
		{"typescript", "zod.ts", "import \"npm:zod@3\";\n" + helloTypeScript},
		{"typescript", "lodash.ts", "import \"npm:lodash@4\";\n" + helloTypeScript},
	} {
		if err := h.write(p.file, p.code); err != nil {
			return nil, err
		}
		run := process("deno run", h.deno, hello, "run", "--no-config", "--no-lock", h.file(p.file))
		name := p.language + "/" + strings.TrimSuffix(p.file, path.Ext(p.file))
		cases = append(cases, benchCase{"stdio/" + name, 30, 5, append(h.calls(p.language, p.code, hello), run)},
			benchCase{"paced/" + name, 20, 1, append(h.paced(p.language, p.code, hello), run)})
	}
	programs := []struct{ topic, file, code, want string }{
		{"process/bash/", "hello.sh", "echo hello", hello},
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
		name := filepath.Join(p.file+".d", p.file) // with others beside it, they would be copied for it
		if err == nil {
			err = errors.Join(os.Mkdir(h.file(filepath.Dir(name)), 0o700), h.write(name, p.code))
		}
		file := h.file(name)
		c := benchCase{name: p.topic + p.file, rounds: 10, burst: 1}
		if p.topic == "cpu/python/" {
			c.rounds = 3
		}
		for _, b := range h.builds {
			c.contenders = append(c.contenders, process(b.name, b.command, p.want, "run", "--timeout", "2m", file))
		}
		if strings.HasSuffix(file, ".sh") {
			c.contenders = append(c.contenders, process("bash", command{path: "bash", env: ownEnv()}, p.want, file))
		} else if strings.HasSuffix(file, ".py") {
			c.contenders = append(c.contenders, process("Pyodide on Deno", h.deno, p.want, "run", "--no-config", "--no-lock", "--allow-all", h.file("pyodide.mjs"), h.pyodide(), file))
			c.contenders = append(c.contenders, onPython(p.want, file)...)
		} else {
			c.contenders = append(c.contenders, process("deno run", h.deno, p.want, "run", "--no-config", "--no-lock", file))
		}
		cases = append(cases, c)
	}
	return cases, err
}
