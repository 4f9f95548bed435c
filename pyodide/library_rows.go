package pyodide

import (
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/emscripten"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// notForLibraries are host functions that only the main module may call: those
// that would run JavaScript.
var notForLibraries = []string{"emscripten_asm_const_int"}

// libraryRows are the host functions that shared libraries may import: Emscripten's
// without those for JavaScript.
var libraryRows = sync.OnceValue(func() (rows hostfn.Table) {
	for _, row := range emscripten.Rows() {
		if !strings.Contains(row.Sig, "e") && !slices.Contains(notForLibraries, row.Name) {
			row.Module = dylink.HostModule
			rows = append(rows, row)
		}
	}
	return rows
})

func forLibraries(name string) bool {
	return slices.ContainsFunc(libraryRows(), func(r hostfn.Row) bool { return r.Name == name })
}

// hostFuncs returns libraryRows as the linker wants them.
func hostFuncs() (out []dylink.HostFunc) {
	types := func(in []api.ValueType) (out []wasmbin.ValType) {
		for _, t := range in {
			out = append(out, wasmbin.ValType(t)) // the same numbers, those of the format
		}
		return out
	}
	for _, row := range libraryRows() {
		out = append(out, dylink.HostFunc{Name: row.Name, Type: wasmbin.FuncType{Params: types(row.Params()), Results: types(row.Results())}})
	}
	return out
}

// linkKey is part of the keys of snapshots and of rewritten libraries. Its number
// changes with the format of linkState and the rewriting of libraries.
var linkKey = sync.OnceValue(func() string {
	var names strings.Builder
	for _, r := range libraryRows() {
		names.WriteString(r.Name + " " + r.Sig + " ")
	}
	return "3 " + codestore.Digest([]byte(names.String()))
})
