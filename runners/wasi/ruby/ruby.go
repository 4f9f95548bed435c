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
// Values of JavaScript, which the module's imports are about, do not exist here. There are no
// processes and no sockets; threads take turns only where they wait.
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
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.Ruby, Version: versions.RubyVersion, File: "main.rb", Commands: []string{"ruby"},
	Module: &engine.Module{Name: "ruby", Package: versions.Ruby, File: versions.RubyModule, Imports: imports},
	Args:   func(file string, args []string, _ bool) []string { return append([]string{file}, args...) },
	Run:    run,
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
	in, state, err := c.Begin(ctx, v.boot)
	if in == nil {
		return c.Ended(ctx, "ruby", engine.End{}, err)
	}
	defer in.Close()
	status := 0
	if err == nil {
		v.Instance, in.State = in, v
		if err = json.Unmarshal(state, &v.handles); err == nil {
			status, err = v.main(c, dir, args)
		}
	}
	end := in.End(err)
	if err == nil {
		end.Code = status
	}
	return c.Ended(ctx, "ruby", end, nil)
}

// boot begins Ruby, and returns its handles.
func (v *vm) boot(in *engine.Instance) (state []byte, err error) {
	v.Instance, in.State = in, v
	if _, err := v.Call("_initialize"); err != nil {
		return nil, err
	}
	if err := v.init("ruby", "-EUTF-8", "-e_=0"); err != nil {
		return nil, err
	}
	if _, err = v.eval("eval(" + literal(driver) + ", TOPLEVEL_BINDING, '<coderunner>', 1); ''"); err != nil {
		return nil, err
	}
	return json.Marshal(v.handles)
}

// main runs a command line.
func (v *vm) main(c *guest.Call, dir string, args []string) (status int, err error) {
	text, err := v.eval(fmt.Sprintf("CodeRunner.inspects, CodeRunner.session = %v, %v; CodeRunner.main(%s, %s, %s).to_s", c.Report != nil, c.Goes(), literal(dir), array(args), array(c.Env)))
	if err != nil {
		return 0, err
	}
	if status, err = strconv.Atoi(text); err != nil {
		return 0, fmt.Errorf("the status %.100q of Ruby's driver", text)
	}
	if c.Report != nil {
		err = v.report(c, status)
	}
	return status & 0xff, err
}

// maxText bounds what is read of Ruby, in bytes.
const maxText = 1 << 20

// report reads what the program leaves.
func (v *vm) report(c *guest.Call, status int) error {
	text, err := v.eval("CodeRunner.left")
	if err != nil {
		return err
	}
	r := c.Report
	var left struct {
		Type, Message, Traceback, Value string
		Line                            int
		Variables                       []runners.Variable
	}
	if err := json.Unmarshal([]byte(text), &left); err != nil {
		return nil // the program has changed what tells of it
	}
	if left.Type != "" {
		r.Error = &runners.Error{Type: runners.ClipLine(left.Type, 200), Message: left.Message, Line: max(0, left.Line), Traceback: left.Traceback, Shown: true}
		r.Memory = left.Type == "NoMemoryError" && v.Refused()
	}
	if left.Value != "" {
		r.Result = runners.NewValue(left.Value, left.Value, maxResult)
	}
	state, err := json.Marshal(v.handles)
	if err == nil {
		c.Leave(v.Instance, state, left.Variables, status == 0)
	}
	return err
}

// maxResult bounds a program's value, in bytes.
const maxResult = 50_000

// init begins Ruby with options.
func (v *vm) init(args ...string) error {
	list := make([]byte, 0, 8*len(args))
	for _, a := range args {
		at, n, err := v.put(a + "\x00")
		if err != nil {
			return err
		}
		list = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(list, at), n)
	}
	at, _, err := v.put(string(list))
	if err != nil {
		return err
	}
	_, err = v.Call("ruby-init: func(args: list<string>) -> ()", uint64(at), uint64(len(args)))
	return err
}

// put puts a text into Ruby's memory.
func (v *vm) put(text string) (at, n uint32, err error) {
	p, err := v.Call("cabi_realloc", 0, 0, 4, uint64(len(text)))
	if err == nil && !v.Mem.Put(uint32(p), []byte(text)) {
		err = errMemory
	}
	return uint32(p), uint32(len(text)), err
}

var errMemory = &engine.Unsupported{Text: "Ruby's module has given an address that is not in its memory"}

// eval evaluates Ruby and returns the string that is its value.
func (v *vm) eval(code string) (string, error) {
	at, n, err := v.put(code + "\x00")
	if err != nil {
		return "", err
	}
	ret, err := v.Call("rb-eval-string-protect: func(str: string) -> tuple<handle<rb-abi-value>, s32>", uint64(at), uint64(n))
	if err != nil {
		return "", err
	}
	handle, ok := v.Mem.Uint32(uint32(ret))
	status, ok2 := v.Mem.Uint32(uint32(ret) + 4)
	if !ok || !ok2 {
		return "", errMemory
	}
	if status != 0 { // what nothing in the driver catches: a throw or a fatal error
		return "", &engine.Unsupported{Text: fmt.Sprintf("Ruby ended in state %d", status)}
	}
	if ret, err = v.Call("rstring-ptr: func(value: handle<rb-abi-value>) -> string", uint64(handle)); err != nil {
		return "", err
	}
	start, ok := v.Mem.Uint32(uint32(ret))
	size, ok2 := v.Mem.Uint32(uint32(ret) + 4)
	b, ok3 := v.Mem.Bytes(start, min(size, maxText))
	if !ok || !ok2 || !ok3 {
		return "", errMemory
	}
	text := strings.ToValidUTF8(string(b), "\ufffd")
	_, err = v.Call("cabi_post_rstring-ptr", ret)
	return text, err
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
