package main

import (
	"fmt"
	"io"
)

// What programs begin with.
var (
	libraryModules = []string{"json", "dataclasses", "logging", "asyncio", "sqlite3"}
	packageModules = []string{"rich", "pydantic", "sympy"}
)

// importCases are programs that import one module, as calls of a server that
// is up and has run them before, so that packages are in the cache.
func importCases(h *hosts) []benchCase {
	var cases []benchCase
	for _, module := range libraryModules {
		code := importing(module)
		cases = append(cases, h.importCase(module, h.freshFromSnapshot(peer, code, hello)))
	}
	for _, module := range packageModules {
		// Pyodide keeps no packages: it fetches them for each interpreter.
		cases = append(cases, h.importCase(module, absent(peer, nameSnapshot,
			fmt.Errorf("packages that stay for the next interpreter: %w", errAbsent))))
	}
	return cases
}

func (h *hosts) importCase(module string, beside contender) benchCase {
	without := h.overStdio("without import", "python", helloPython, hello)
	without.role = another
	return benchCase{
		topic: "imports", name: module, warm: 3,
		contenders: []contender{
			h.overStdio("coderunner serve", "python", importing(module), hello),
			without,
			beside,
		},
	}
}

func importing(module string) string { return "import " + module + "\n" + helloPython }

// writeImports shows what an import adds to a hello.
func writeImports(w io.Writer, results []*result) error {
	_, err := fmt.Fprintf(w, "\nimports: Python hello after one import, a fresh interpreter for each call, over stdio (medians in ms)\n")
	if err != nil {
		return err
	}
	head := []string{""}
	for _, r := range results[0].rows {
		head = append(head, r.contender)
	}
	t := table{head: append(head, "the import")}
	wall := metric{of: (*row).wall}
	for _, res := range results {
		cells := []string{res.benchCase.name}
		for _, r := range res.rows {
			cells = append(cells, matrixCell(r, wall))
		}
		t.rows = append(t.rows, append(cells, added(res.rows[0], res.rows[1])))
	}
	if err := t.write(w); err != nil {
		return err
	}
	return writeFailures(w, results)
}

// added is the difference of two medians.
func added(with, without *row) string {
	a, b := with.wall(), without.wall()
	if broken(with) || broken(without) || a.N == 0 || b.N == 0 {
		return "-"
	}
	if a.Median < b.Median {
		return "-" + ms(b.Median-a.Median)
	}
	return ms(a.Median - b.Median)
}
