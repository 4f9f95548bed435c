package rewrite

import (
	"slices"
	"testing"

	"coderunner/pyodide/wasmbin"
)

// deepModule has one function (i32) -> i32 with the given body, whose only tag
// carries a value.
func deepModule(body asm) []byte {
	p := &program{}
	in := p.encode() // only main
	m, err := wasmbin.Parse(in)
	if err != nil {
		panic(err)
	}
	code, _ := m.SectionOf(wasmbin.SecCode)
	body = append(append(asm{0}, body...), wasmbin.OpEnd)
	out := slices.Clone(in[:code.Start-2]) // the section's head: number and one byte of size
	return wasmbin.AppendSection(out, wasmbin.SecCode, []byte{1}, wasmbin.AppendU32(nil, uint32(len(body))), body)
}

// TestDeep lowers functions with as much nesting as is accepted. It takes too
// long when anything but the size of the function counts.
func TestDeep(t *testing.T) {
	const n = wasmbin.MaxDepth - 2
	repeat := func(a asm, n int) asm { return slices.Repeat(a, n) }
	try := asm(nil).void(wasmbin.OpTry)
	throw := asm(nil).i32(1).idx(wasmbin.OpThrow, 0)
	call := asm(nil).get(0).idx(wasmbin.OpCall, 0).op(wasmbin.OpDrop)
	for name, c := range map[string]struct {
		body asm
		ok   bool
	}{
		"bodies":    {slices.Concat(repeat(try, n), repeat(call, n), repeat(asm(nil).op(wasmbin.OpCatchAll).idx(wasmbin.OpRethrow, 0).end(), n), asm(nil).get(0)), true},
		"handlers":  {slices.Concat(repeat(slices.Concat(try, throw, asm(nil).op(wasmbin.OpCatchAll).void(wasmbin.OpBlock).idx(wasmbin.OpRethrow, 1).end()), n-1), repeat(asm(nil).end(), n-1), asm(nil).get(0)), true},
		"delegates": {slices.Concat(repeat(try, n), call, repeat(asm(nil).idx(wasmbin.OpDelegate, 0), n), asm(nil).get(0)), true},
		"loops":     {slices.Concat(repeat(asm(nil).void(wasmbin.OpLoop), n), repeat(asm(nil).end(), n), asm(nil).get(0)), true},
		"too deep":  {slices.Concat(repeat(try, n+5), repeat(asm(nil).end(), n+5), asm(nil).get(0)), false},
	} {
		out, _, err := Module(deepModule(c.body), Options{})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, want success %v", name, err, c.ok)
		}
		if err == nil && len(out) > 40*len(c.body)+1000 {
			t.Errorf("%s: %d bytes of code became %d", name, len(c.body), len(out))
		}
	}
}
