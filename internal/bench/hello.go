package main

// The smallest programs: what is measured is everything around them.
const (
	helloPython     = "print(\"hello\")\n"
	helloTypeScript = "const who: string = \"hello\";\nconsole.log(who);\n"
)

var hello = said{Stdout: "hello\n"}

// helloCases are the programs that do nothing, as processes and as calls of a
// server that is up.
func helloCases(h *hosts) ([]benchCase, error) {
	for name, code := range map[string]string{"hello.py": helloPython, "hello.ts": helloTypeScript} {
		if err := h.writeFile(name, []byte(code)); err != nil {
			return nil, err
		}
	}
	return []benchCase{
		{
			topic: "hello", name: "python/process", warm: 1, usual: 5,
			title:      "Python hello, whole process, warm cache",
			contenders: h.pythonHello(),
		},
		{
			topic: "hello", name: "python/steady", warm: 3, factor: 3,
			title: "Python hello, one call of a process that is up, over stdio",
			contenders: []contender{
				h.overStdio("coderunner serve, a fresh interpreter each", "python", helloPython, hello),
				h.onOneInterpreter(helloPython, hello),
			},
		},
		{
			topic: "hello", name: "python/expression", warm: 3, factor: 3,
			title: "Python 1 + 1, one call of a process that is up, over stdio",
			contenders: []contender{
				h.overStdio("coderunner serve, a fresh interpreter each", "python", "1 + 1", said{Result: "2"}),
				h.onOneInterpreter("1 + 1", said{Result: "2"}),
				h.onEryx(another, "1 + 1", said{}),
			},
		},
		{
			topic: "hello", name: "python/fresh", warm: 2, usual: 5,
			title: "Python hello in a fresh interpreter, one call of a process that is up",
			contenders: []contender{
				h.overStdio("coderunner serve", "python", helloPython, hello),
				h.inProcess("package pyodide, in this process", another, 0, helloPython, hello),
				h.pyodideLoop(nameDeno+", loaded anew", peer, func() command { return h.onDeno("fresh") }, helloPython, hello),
				h.freshFromSnapshot(another, helloPython, hello),
			},
		},
		{
			topic: "hello", name: "typescript/process", warm: 2,
			title: "TypeScript hello, whole process, warm cache",
			contenders: []contender{
				asProcess(nameOurs, ours, func() command { return h.coderunner.with("run", h.file("hello.ts")) }, prints("hello\n")),
				h.denoRun(),
			},
		},
		{
			topic: "hello", name: "typescript/steady", warm: 3,
			title: "TypeScript hello, one call of a server that is up, over stdio",
			contenders: []contender{
				h.overStdio("coderunner serve, a fresh process each", "typescript", helloTypeScript, hello),
				h.denoRun(),
			},
		},
	}, nil
}

// pythonHello are all the ways from nothing to a hello.
func (h *hosts) pythonHello() []contender {
	all := h.pythonProcesses("hello.py", prints("hello\n"))
	own := asProcess(nameSnapshot, another,
		func() command { return h.onDeno("run", h.file("hello.py"), h.snapshot) }, prints("hello\n"), h.denoErr, h.pyodideErr, h.snapshotErr)
	onNode := asProcess("Pyodide on Node, from its own snapshot", another,
		func() command { return h.onNode("run", h.file("hello.py"), h.snapshot) }, prints("hello\n"), h.nodeErr, h.pyodideErr, h.snapshotErr)
	return append([]contender{all[0], h.firstResult("python", helloPython, hello), all[1], own, onNode}, all[2:]...)
}

func (h *hosts) onOneInterpreter(code string, want said) contender {
	return h.pyodideLoop(nameDeno+", one interpreter for all", peer,
		func() command { return h.onDeno("loop") }, code, want)
}

func (h *hosts) denoRun() contender {
	return asProcess("deno run, as a process", peer,
		func() command { return h.deno.with(h.file("hello.ts")) }, prints("hello\n"), h.denoErr)
}
