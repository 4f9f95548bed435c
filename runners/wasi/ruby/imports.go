package ruby

import (
	"context"

	"coderunner/pyodide/hostfn"
	"coderunner/runners/wasi/engine"
)

// imports are handles of Ruby's values. What the module wants besides are values of
// JavaScript, which there are none of.
func imports() hostfn.Table {
	row := func(name string, f func(v *vm, n uint32) uint32) hostfn.Row {
		return hostfn.Row{
			Module: "canonical_abi", Name: name, Sig: "i:i", Args: "value", Source: "@ruby/4.0-wasm-wasi, dist/esm/bindgen", Support: hostfn.Full,
			Fn: func(ctx context.Context, stack []uint64) {
				stack[0] = uint64(f(engine.FromContext(ctx).State.(*vm), uint32(stack[0])))
			},
		}
	}
	return hostfn.Table{row("resource_new_rb-abi-value", (*vm).newHandle), row("resource_get_rb-abi-value", (*vm).value)}
}

// maxHandles bounds the handles of a module.
const maxHandles = 1 << 20

func (v *vm) newHandle(value uint32) uint32 {
	if len(v.handles) >= maxHandles {
		engine.Stop(&engine.Unsupported{Text: "Ruby has too many handles"})
	}
	v.handles = append(v.handles, value)
	return uint32(len(v.handles) - 1)
}

func (v *vm) value(handle uint32) uint32 {
	if handle >= uint32(len(v.handles)) {
		engine.Stop(&engine.Unsupported{Text: "Ruby has no such handle"})
	}
	return v.handles[handle]
}
