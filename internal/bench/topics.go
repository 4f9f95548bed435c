package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
)

const (
	helloPython     = "print('hello')\n"
	helloTypeScript = "const who: string = \"hello\";\nconsole.log(who);\n"
	hello           = "hello\n"
)

// Programs that compute for about a second, and their RESULT lines.
//
//go:embed testdata/cpu
var cpuFiles embed.FS

// What programs begin with. Pyodide keeps no packages for the next process, so
// those have no peer.
var (
	libraryModules = []string{"json", "dataclasses", "logging", "asyncio", "sqlite3"}
	pythonPackages = []string{"rich", "pydantic", "sympy", "msgpack"}
	npmPackages    = []string{"zod@3", "lodash@4"}
)

// The sizes of what runs at once.
const (
	batchRuns    = 1000
	batchCallers = 32
	livePython   = 100
	liveDeno     = 10
)

func topics(h *hosts) []topic {
	return []topic{
		{"stdio", "one call of a server that is up, a fresh interpreter or process for each", "ms", h.stdioCases()},
		{"start", "a process, from its start to its end or its first result", "ms", h.startCases()},
		{"imports", "one import and a hello, over stdio, packages in the cache", "ms", h.importCases()},
		{"parallel", fmt.Sprintf("%d calls from %d callers, time of each", batchRuns, batchCallers), "ms", h.parallelCases()},
		{"live", "private memory of one of many running programs, children included", "MiB", h.liveCases()},
		{"cpu", "Python programs that compute, by their own clock", "ms", h.cpuCases()},
	}
}

func (h *hosts) denoRun(text string) contender {
	return contender{name: "deno run", open: func(context.Context) (*opened, error) {
		return processes(h.deno.with(h.file("hello.ts")), nil, hello), h.writeFile("hello.ts", text)
	}}
}

func (h *hosts) stdioCases() []benchCase {
	const one = nameDeno + ", one interpreter for all"
	return []benchCase{
		{name: "python/1+1", rounds: 30, burst: 10, warm: 10, contenders: append(
			h.overStdio("python", "1 + 1", "2"), h.pyodideLoop(one, "loop", "1 + 1", "2"))},
		{name: "python/hello", rounds: 30, burst: 10, warm: 10, contenders: append(
			h.overStdio("python", helloPython, hello), h.pyodideLoop(one, "loop", helloPython, hello))},
		{name: "python/new", rounds: 30, burst: 10, warm: 10, contenders: h.neverSeen()},
		{name: "typescript/hello", rounds: 30, burst: 5, warm: 5, contenders: append(
			h.overStdio("typescript", helloTypeScript, hello), h.denoRun(helloTypeScript))},
	}
}

// neverSeen measures programs of which no two are alike.
func (h *hosts) neverSeen() []contender {
	return h.ofBuilds(func(ctx context.Context, b build) (*opened, error) {
		s, err := serve(ctx, b.command)
		if err != nil {
			return nil, err
		}
		n := 0
		return &opened{cpu: s.talk.cpu, close: s.talk.close, sample: func(ctx context.Context) (float64, error) {
			n++
			began := time.Now()
			err := s.runCode(ctx, "python", fmt.Sprintf("%d + 1", n), fmt.Sprint(n+1))
			return ms(time.Since(began)), err
		}}, nil
	})
}

func (h *hosts) startCases() []benchCase {
	return []benchCase{
		{name: "python/process", rounds: 10, warm: 1, contenders: append(
			h.runs("hello.py", helloPython, nil, hello),
			h.peerProcess(nameDeno, h.pyodide("run", h.file("hello.py")), nil, hello))},
		{name: "python/first", rounds: 10, warm: 1, contenders: h.firstResult("python", helloPython, hello)},
		{name: "typescript/process", rounds: 20, warm: 2, contenders: append(
			h.runs("hello.ts", helloTypeScript, nil, hello), h.denoRun(helloTypeScript))},
		{name: "typescript/first", rounds: 20, warm: 1, contenders: h.firstResult("typescript", helloTypeScript, hello)},
	}
}

func (h *hosts) importCases() []benchCase {
	var cases []benchCase
	for _, module := range libraryModules {
		code := "import " + module + "\n" + helloPython
		cases = append(cases, benchCase{name: "python/" + module, rounds: 10, burst: 10, warm: 5, contenders: append(
			h.overStdio("python", code, hello), h.pyodideLoop(nameDeno+", its own snapshot", "fresh", code, hello))})
	}
	for _, module := range pythonPackages {
		cases = append(cases, benchCase{name: "python/" + module, rounds: 10, burst: 10, warm: 10,
			contenders: h.overStdio("python", "import "+module+"\n"+helloPython, hello)})
	}
	for _, name := range npmPackages {
		cases = append(cases, benchCase{name: "typescript/" + name, rounds: 10, burst: 5, warm: 10,
			contenders: h.overStdio("typescript", "import \"npm:"+name+"\";\n"+helloTypeScript, hello)})
	}
	return cases
}

func (h *hosts) parallelCases() []benchCase {
	return []benchCase{
		{name: "python", rounds: 4, warm: 1, contenders: h.batch("python", "print('marker %d')")},
		{name: "typescript", rounds: 2, warm: 1, contenders: h.batch("typescript", "console.log(`marker ${%d}`)")},
	}
}

// batch measures many runs at once, each with a marker that must come back to
// its own caller.
func (h *hosts) batch(language, code string) []contender {
	return h.ofBuilds(func(ctx context.Context, b build) (*opened, error) {
		s, err := serve(ctx, b.command)
		if err != nil {
			return nil, err
		}
		return &opened{close: s.talk.close, sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			err := inParallel(batchRuns, batchCallers, func(n int) error {
				return s.runCode(ctx, language, fmt.Sprintf(code, n), fmt.Sprintf("marker %d\n", n))
			})
			return ms(time.Since(began)) / batchRuns, err
		}}, nil
	})
}

// inParallel calls one with 0, 1, … from so many callers at a time.
func inParallel(runs, callers int, one func(n int) error) error {
	next := make(chan int)
	var mu sync.Mutex
	var all error
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for n := range next {
				if err := one(n); err != nil {
					mu.Lock()
					all = errors.Join(all, fmt.Errorf("run %d: %w", n, err))
					mu.Unlock()
				}
			}
		})
	}
	for n := range runs {
		next <- n
	}
	close(next)
	group.Wait()
	return all
}

func (h *hosts) liveCases() []benchCase {
	return []benchCase{
		{name: "python", rounds: 1, contenders: append(
			h.alive(livePython, "python", "import time; time.sleep(4)"), h.pyodideAlive())},
		{name: "typescript", rounds: 1, contenders: h.alive(liveDeno, "typescript", "await new Promise((done) => setTimeout(done, 4000))")},
	}
}

// alive measures the memory of a server while programs sleep in it.
func (h *hosts) alive(programs int, language, code string) []contender {
	return h.ofBuilds(func(ctx context.Context, b build) (*opened, error) {
		b.env = append(b.env, fmt.Sprintf("CODE_RUNNER_CONCURRENCY=%d", programs))
		s, err := serve(ctx, b.command)
		if err != nil {
			return nil, err
		}
		return &opened{close: s.talk.close, sample: func(ctx context.Context) (float64, error) {
			if err := s.runCode(ctx, language, "", ""); err != nil {
				return 0, err
			}
			before, err := s.talk.privateBytes()
			if err != nil {
				return 0, err
			}
			done := make(chan error, 1)
			go func() {
				done <- inParallel(programs, programs, func(int) error { return s.runCode(ctx, language, code, "") })
			}()
			var most int64
			for tick := time.Tick(100 * time.Millisecond); ; {
				select {
				case err := <-done:
					return float64(most-before) / float64(programs) / (1 << 20), err
				case <-tick:
					now, err := s.talk.privateBytes()
					if err != nil {
						return 0, err
					}
					most = max(most, now)
				}
			}
		}}, nil
	})
}

// pyodideAlive measures a process that has run a program in its interpreter.
func (h *hosts) pyodideAlive() contender {
	return contender{name: nameDeno + ", a process", open: func(ctx context.Context) (*opened, error) {
		t, err := h.pyodide("loop").talk()
		if err != nil {
			return nil, err
		}
		return &opened{close: t.close, sample: func(ctx context.Context) (float64, error) {
			if _, err := t.ask(ctx, []byte(`"1 + 1"`)); err != nil {
				return 0, err
			}
			n, err := t.privateBytes()
			return float64(n) / (1 << 20), err
		}}, nil
	}}
}

func (h *hosts) cpuCases() []benchCase {
	expected, err := cpuFiles.ReadFile("testdata/cpu/EXPECTED.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	var cases []benchCase
	for line := range strings.Lines(string(expected)) {
		file, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		code, err := cpuFiles.ReadFile(path.Join("testdata/cpu", file))
		if err != nil {
			panic(err)
		}
		read := readElapsed(want)
		cases = append(cases, benchCase{name: strings.TrimSuffix(file, ".py"), rounds: 3, contenders: append(
			h.runs(file, string(code), read, ""), h.peerProcess(nameDeno, h.pyodide("run", h.file(file)), read, ""))})
	}
	return cases
}
