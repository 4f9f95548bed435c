package ruby

import (
	"context"
	"strings"

	"coderunner/pyodide/hostfn"
	"coderunner/runners/wasi/engine"
)

// source is the package's own host.
const source = "@ruby/4.0-wasm-wasi, dist/esm/bindgen"

// imports are what the module wants besides WASI's functions: handles of Ruby's values, and
// JavaScript's values, which there are none of.
func imports() hostfn.Table {
	row := func(module, name, sig string, f hostfn.Func) hostfn.Row {
		params, _, _ := strings.Cut(sig, ":")
		args := strings.TrimSpace(strings.Repeat("arg ", len(params)))
		return hostfn.Row{Module: module, Name: name, Sig: sig, Args: args, Source: source, Support: hostfn.Full, Fn: f}
	}
	table := hostfn.Table{
		row("canonical_abi", "resource_new_rb-abi-value", "i:i", newHandle),
		row("canonical_abi", "resource_get_rb-abi-value", "i:i", getHandle),
	}
	for line := range strings.Lines(javascript) {
		sig, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		module := "rb-js-abi-host"
		if strings.HasPrefix(name, "resource_") {
			module = "canonical_abi"
		}
		r := row(module, name, sig, noJavaScript)
		r.Support, r.Note = hostfn.Absent, "there is no JavaScript"
		table = append(table, r)
	}
	return table
}

// maxHandles bounds the handles of a module.
const maxHandles = 1 << 20

func newHandle(ctx context.Context, stack []uint64) {
	v := engine.FromContext(ctx).State.(*vm)
	if len(v.handles) >= maxHandles {
		panic(&engine.Unsupported{Text: "Ruby has too many handles"})
	}
	v.handles = append(v.handles, uint32(stack[0]))
	stack[0] = uint64(len(v.handles) - 1)
}

func getHandle(ctx context.Context, stack []uint64) {
	v := engine.FromContext(ctx).State.(*vm)
	if stack[0] >= uint64(len(v.handles)) {
		panic(&engine.Unsupported{Text: "Ruby has no such handle"})
	}
	stack[0] = uint64(v.handles[stack[0]])
}

func noJavaScript(context.Context, []uint64) {
	panic(&engine.Unsupported{Text: "Ruby's module js needs a host of JavaScript, which this is not"})
}

// javascript has the functions for values of JavaScript, with their types.
const javascript = `ii: rb_wasm_throw_prohibit_rewind_exception
i: resource_drop_js-abi-value
iii: eval-js: func(code: string) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }
i:i is-js: func(value: handle<js-abi-value>) -> bool
ii:i instance-of: func(value: handle<js-abi-value>, klass: handle<js-abi-value>) -> bool
:i global-this: func() -> handle<js-abi-value>
i:i int-to-js-number: func(value: s32) -> handle<js-abi-value>
d:i float-to-js-number: func(value: float64) -> handle<js-abi-value>
ii:i string-to-js-string: func(value: string) -> handle<js-abi-value>
i:i bool-to-js-bool: func(value: bool) -> handle<js-abi-value>
i:i proc-to-js-function: func(value: u32) -> handle<js-abi-value>
i:i rb-object-to-js-rb-value: func(raw-rb-abi-value: u32) -> handle<js-abi-value>
ii: js-value-to-string: func(value: handle<js-abi-value>) -> string
ii: js-value-to-integer: func(value: handle<js-abi-value>) -> variant { as-float(float64), bignum(string) }
i: export-js-value-to-host: func(value: handle<js-abi-value>) -> ()
:i import-js-value-from-host: func() -> handle<js-abi-value>
ii: js-value-typeof: func(value: handle<js-abi-value>) -> string
ii:i js-value-equal: func(lhs: handle<js-abi-value>, rhs: handle<js-abi-value>) -> bool
ii:i js-value-strictly-equal: func(lhs: handle<js-abi-value>, rhs: handle<js-abi-value>) -> bool
iiiii: reflect-apply: func(target: handle<js-abi-value>, this-argument: handle<js-abi-value>, arguments: list<handle<js-abi-value>>) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }
iiii: reflect-get: func(target: handle<js-abi-value>, property-key: string) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }
iiiii: reflect-set: func(target: handle<js-abi-value>, property-key: string, value: handle<js-abi-value>) -> variant { success(handle<js-abi-value>), failure(handle<js-abi-value>) }`
