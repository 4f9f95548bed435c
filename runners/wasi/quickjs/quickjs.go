// Package quickjs runs JavaScript on QuickJS. Its module is a library for a host that knows
// JavaScript's values; prelude.js makes of one function of this host, in host.go, what
// programs find.
//
// # Limits
//
// Of QuickJS's own modules std and os there is what prelude.js has: files as whole texts,
// directories, the environment, timers. Modules are imported by relative paths.
package quickjs

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.QuickJS, Version: versions.QuickJSVersion, File: "main.js", Commands: []string{"qjs"},
	Module: &engine.Module{Name: "quickjs", Package: versions.QuickJS, File: versions.QuickJSModule, Imports: imports},
	Args:   func(file string, args []string, _ bool) []string { return append([]string{file}, args...) },
	Run:    run,
}

//go:embed prelude.js
var prelude string

// vm is QuickJS in an instance.
type vm struct {
	*engine.Instance
	c   *guest.Call
	ctx context.Context
	in  io.Reader
	booted
	// rejected are reasons of promises that nothing has handled, by the promises.
	rejected map[uint32]uint32
}

// booted is the state of QuickJS that has begun.
type booted struct {
	Helpers map[string]uint32 // functions of prelude.js
	Random  uint32            // address of the state of Math.random, 0 if it is not known
}

// Flags of qjs_eval.
const (
	asScript = 0
	asModule = 1 << 0
	compiled = 1 << 5
	mayAwait = 1 << 7
)

// maxStack is how deep QuickJS may recurse, in bytes of its stack.
const maxStack = 256 << 10

func run(ctx context.Context, c *guest.Call) int {
	name, code, args, err := program(ctx, c)
	if err != nil {
		fmt.Fprintf(c.Stderr(ctx), "qjs: %v\n", err)
		return 2
	}
	c.Args = append([]string{name}, args...)
	v := &vm{c: c, ctx: ctx, in: c.Stdin(ctx), rejected: map[uint32]uint32{}}
	in, state, err := c.Begin(ctx, v.boot)
	if in == nil {
		return c.Ended(ctx, "qjs", engine.End{}, err)
	}
	defer in.Close()
	if err == nil {
		v.Instance, in.State = in, v
		if err = json.Unmarshal(state, &v.booted); v.Random != 0 {
			v.Mem.PutUint64(v.Random, rand.Uint64()|1)
		}
	}
	if err == nil {
		err = v.main(name, code)
	}
	failed, fails := errors.AsType[*failure](err)
	if err == nil || fails {
		err = errors.Join(err, v.leave(state, err == nil))
	}
	if fails {
		fmt.Fprintln(c.Stderr(ctx), failed.trace)
		if c.Report != nil {
			c.Report.Error = failed.error(name)
		}
		return 1
	}
	return c.Ended(ctx, "qjs", in.End(err), nil)
}

// program reads the command line: qjs [-e CODE | -m] FILE [ARG]...
func program(ctx context.Context, c *guest.Call) (name, code string, args []string, err error) {
	args = c.Args[1:]
	for len(args) > 0 && (args[0] == "-m" || args[0] == "--module" || args[0] == "--std" || args[0] == "--script") {
		args = args[1:]
	}
	switch {
	case len(args) > 1 && (args[0] == "-e" || args[0] == "--eval"):
		return "<cmdline>", args[1], args[2:], nil
	case len(args) == 0 || args[0] == "-":
		b, err := io.ReadAll(c.Stdin(ctx))
		return "<stdin>", string(b), args[min(1, len(args)):], err
	case strings.HasPrefix(args[0], "-"):
		return "", "", nil, fmt.Errorf("unknown option %s (this build takes -e and -m)", args[0])
	}
	b, err := readFile(ctx, c, args[0])
	return args[0], string(b), args[1:], err
}

// maxFile bounds a file that is read as a whole, in bytes.
const maxFile = 256 << 20

func readFile(ctx context.Context, c *guest.Call, name string) ([]byte, error) {
	f, errno := c.Open(ctx, name, abi.O_RDONLY, 0)
	if errno != abi.OK {
		return nil, fmt.Errorf("%s: %w", name, errno)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(c.Reader(ctx, f), maxFile))
}

// boot makes a context with what programs find, and returns the functions of prelude.js.
func (v *vm) boot(in *engine.Instance) (state []byte, err error) {
	v.Instance, in.State = in, v
	for _, call := range []struct {
		name string
		args []uint64
	}{{"_initialize", nil}, {"qjs_init", nil}, {"qjs_set_max_stack_size", []uint64{maxStack}}, {"qjs_set_module_loader", []uint64{1}}, {"qjs_set_promise_rejection_handler", []uint64{1}}} {
		if _, err := v.Call(call.name, call.args...); err != nil {
			return nil, err
		}
	}
	name, n, err := v.put("host")
	if err != nil {
		return nil, err
	}
	host, err := v.Call("qjs_new_host_function", uint64(name), uint64(n), 0)
	if err != nil {
		return nil, err
	}
	make, err := v.eval(prelude, "<coderunner>", asScript)
	if err != nil {
		return nil, err
	}
	made, err := v.apply(make, uint32(host))
	b := booted{Helpers: map[string]uint32{}}
	for _, name := range []string{"again", "random", "tick", "value", "failure", "names"} {
		if err == nil {
			b.Helpers[name], err = v.property(made, name)
		}
	}
	if err != nil {
		return nil, err
	}
	v.booted = b
	text, err := v.ask("random", 0)
	if err != nil {
		return nil, err
	}
	b.Random = v.findRandom(text)
	return json.Marshal(b)
}

// findRandom returns the address of the state of Math.random after it has returned a number,
// by its algorithm, xorshift64*: without another seed, the numbers of all programs that are
// made of one image would be the same.
func (v *vm) findRandom(number string) uint32 {
	f, err := strconv.ParseFloat(number, 64)
	const mantissa, multiplier = 1<<52 - 1, 0x2545F4914F6CDD1D
	want := math.Float64bits(f+1) & mantissa
	for at := uint32(8); err == nil; at += 8 {
		n, ok := v.Mem.Uint64(at)
		if !ok {
			break
		}
		if n*multiplier>>12 == want {
			return at
		}
	}
	return 0
}

// leave saves what a program leaves in its session, unless it has ended the process.
func (v *vm) leave(state []byte, succeeded bool) error {
	if !v.c.Goes() {
		return nil
	}
	text, err := v.ask("names", 0)
	var variables []runners.Variable
	if err == nil && json.Unmarshal([]byte(text), &variables) == nil {
		v.c.Leave(v.Instance, state, variables, succeeded)
	}
	return err
}

// main runs a program until nothing is left to do.
func (v *vm) main(name, code string) error {
	if strings.HasPrefix(code, "#!") {
		code = "//" + code
	}
	if _, err := v.ask("again", 0); err != nil {
		return err
	}
	flags := uint64(mayAwait)
	if module, err := v.isModule(name, code); err != nil {
		return err
	} else if module {
		flags = asModule
	}
	promise, err := v.eval(code, name, flags)
	if err != nil {
		return err
	}
	if err := v.loop(); err != nil {
		return err
	}
	const pending, rejected = 0, 2
	state, err := v.Call("qjs_promise_state", uint64(promise))
	if err != nil {
		return err
	}
	switch state {
	case pending:
		return &failure{kind: "Error", message: "the program awaits what never comes", trace: "qjs: the program awaits what never comes"}
	case rejected:
		reason, err := v.Call("qjs_promise_result", uint64(promise))
		if err != nil {
			return err
		}
		return v.failed(uint32(reason))
	}
	if v.c.Report == nil || flags == asModule {
		return nil
	}
	return v.report(promise)
}

// isModule reports whether a program is a module: by its name, or since it is no script, as
// Node decides.
func (v *vm) isModule(name, code string) (bool, error) {
	if strings.HasSuffix(name, ".mjs") {
		return true, nil
	}
	_, err := v.eval(code, name, compiled|mayAwait)
	if _, failed := errors.AsType[*failure](err); failed {
		return true, nil
	}
	return false, err
}

// loop performs jobs and timers until there are none.
func (v *vm) loop() error {
	for {
		if err := v.jobs(); err != nil {
			return err
		}
		for _, reason := range v.rejected {
			return v.failed(reason)
		}
		text, err := v.ask("tick", 0)
		if err != nil {
			return err
		}
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil || ms < 0 {
			return nil
		}
		if ms > 0 {
			v.Sleep(v.ctx, time.Duration(ms*float64(time.Millisecond)))
		}
	}
}

func (v *vm) jobs() error {
	for {
		is, err := v.Call("qjs_is_job_pending")
		if err != nil || is == 0 {
			return err
		}
		status, err := v.Call("qjs_execute_pending_job")
		if err != nil {
			return err
		}
		if int32(status) < 0 {
			return v.exception()
		}
	}
}

// report reports the value of the last expression.
func (v *vm) report(promise uint32) error {
	result, err := v.Call("qjs_promise_result", uint64(promise))
	if err != nil {
		return err
	}
	value, err := v.property(uint32(result), "value")
	if err != nil {
		return err
	}
	text, err := v.ask("value", value)
	if err != nil || text == "" {
		return err
	}
	var pair [2]string
	if json.Unmarshal([]byte(text), &pair) == nil {
		v.c.Report.Result = runners.NewValue(pair[0], pair[1], maxResult)
	}
	return nil
}

// maxResult bounds a program's value, in bytes.
const maxResult = 50_000

// failure is an exception that nothing catches.
type failure struct{ kind, message, trace string }

func (e *failure) Error() string { return e.kind + ": " + e.message }

func (e *failure) error(name string) *runners.Error {
	line := 0
	if m := regexp.MustCompile(regexp.QuoteMeta(name) + `:(\d+)`).FindStringSubmatch(e.trace); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return &runners.Error{Type: runners.ClipLine(e.kind, 200), Message: e.message, Traceback: e.trace, Line: line, Shown: true}
}

// exception returns the exception that is pending.
func (v *vm) exception() error {
	reason, err := v.Call("qjs_get_exception")
	if err != nil {
		return err
	}
	return v.failed(uint32(reason))
}

func (v *vm) failed(reason uint32) error {
	if _, ok := v.Helpers["failure"]; !ok {
		text, err := v.text(reason)
		return errors.Join(err, errors.New("prelude.js: "+text))
	}
	text, err := v.ask("failure", reason)
	if err != nil {
		return err
	}
	var parts [3]string
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return err
	}
	return &failure{parts[0], parts[1], parts[2]}
}
