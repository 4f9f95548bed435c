// Package ruby runs Ruby. Its module is a library, which driver.rb makes the command ruby.
//
// # Sources
//
// The package's own host in JavaScript, and the canonical ABI of an early version of
// WebAssembly's interface types, which its functions have: a string is an address and a length,
// a list the same of pairs, a handle of Ruby's values a number that the host gives.
//
// # Limits
//
// Values of JavaScript, which the module's imports are about, do not exist here. Processes
// are started by driver.rb, one at a time. There are no sockets; threads take turns only where they wait.
package ruby

import (
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"coderunner/internal/versions"
	"coderunner/pyodide/hostfn"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.Ruby, Version: versions.RubyVersion, File: "main.rb", Commands: []string{"ruby"},
	Module: &engine.Module{Name: "ruby", Package: versions.Ruby, File: versions.RubyModule, Imports: imports, Absent: "Ruby's module js needs a host of JavaScript, which this is not"},
	Run:    run, Starts: true,
}

//go:embed driver.rb
var driver string

// vm is Ruby in an instance.
type vm struct {
	*engine.Instance
	handles []uint32 // Ruby's values, by their handles
}

func run(ctx context.Context, c *guest.Call) int {
	args, dir := c.Args[1:], c.Dir
	v := &vm{}
	return c.Interpret(ctx, "ruby", v.boot, func(in *engine.Instance, state []byte) int {
		v.Instance, in.State = in, v
		if err := json.Unmarshal(state, &v.handles); err != nil {
			engine.Stop(err)
		}
		return v.main(c, dir, args)
	})
}

// boot begins Ruby, and returns its handles.
func (v *vm) boot(in *engine.Instance) []byte {
	v.Instance, in.State = in, v
	v.Must("_initialize")
	var list []byte
	options := []string{"ruby", "-EUTF-8", "-e_=0"}
	for _, o := range options {
		list = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(list, v.Put(o+"\x00")), uint32(len(o)+1))
	}
	v.Must("ruby-init: func(args: list<string>) -> ()", v.Put(string(list)), len(options))
	v.eval("eval(" + literal(driver) + ", TOPLEVEL_BINDING, '<coderunner>', 1); ''")
	return v.state()
}

func (v *vm) state() []byte {
	state, _ := json.Marshal(v.handles) // it never fails
	return state
}

// main runs a command line.
func (v *vm) main(c *guest.Call, dir string, args []string) int {
	text := v.eval(fmt.Sprintf("CodeRunner.inspects, CodeRunner.session = %v, %v; CodeRunner.main(%s, %s, %s).to_s", c.Report != nil, c.Goes(), literal(dir), array(args), array(c.Env)))
	status, err := strconv.Atoi(text)
	if err != nil {
		engine.Stop(fmt.Errorf("the status %.100q of Ruby's driver", text))
	}
	if c.Report != nil {
		v.report(c, status)
	}
	return status & 0xff
}

// maxText bounds what is read of Ruby, in bytes.
const maxText = 1 << 20

// report reads what the program leaves.
func (v *vm) report(c *guest.Call, status int) {
	r := c.Report
	var left struct {
		Type, Message, Traceback, Value string
		Line                            int
		Variables                       []runners.Variable
	}
	if json.Unmarshal([]byte(v.eval("CodeRunner.left")), &left) != nil {
		return // the program has changed what tells of it
	}
	if left.Type != "" {
		r.Error = &runners.Error{Type: runners.ClipLine(left.Type, 200), Message: left.Message, Line: max(0, left.Line), Traceback: left.Traceback, Shown: true}
		r.Memory = left.Type == "NoMemoryError" && v.Refused()
	}
	if left.Value != "" {
		r.Result = runners.NewValue(left.Value, left.Value, maxResult)
	}
	c.Leave(v.Instance, v.state(), left.Variables, status == 0)
}

// maxResult bounds a program's value, in bytes.
const maxResult = 50_000

// eval evaluates Ruby and returns the string that is its value.
func (v *vm) eval(code string) string {
	ret := v.Must("rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>", v.Put(code+"\x00"), len(code)+1)
	handle, status := v.Word(ret), v.Word(ret+4)
	if status != 0 { // what nothing in the driver catches: a throw or a fatal error
		engine.Stop(&engine.Unsupported{Text: fmt.Sprintf("Ruby ended in state %d", status)})
	}
	ret = v.Must("rstring-ptr: func(value: handle<rb-abi-value>) -> string", handle)
	text := strings.ToValidUTF8(v.Text(v.Word(ret), min(v.Word(ret+4), maxText)), "\ufffd")
	v.Must("cabi_post_rstring-ptr", ret)
	return text
}

// literal returns a string of Ruby.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// array returns an array of strings.
func array(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = "+" + literal(s) // not frozen
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

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
