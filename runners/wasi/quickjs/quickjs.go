// Package quickjs runs JavaScript on QuickJS. Its module is a library for a host that knows
// JavaScript's values; prelude.js builds what programs find on one function of this host, in
// host.go.
//
// # Limits
//
// Of QuickJS's own modules std and os, prelude.js provides a part: files as whole texts,
// directories, the environment, timers. Modules are imported by relative paths.
package quickjs

import (
	"bufio"
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

	"coderunner/internal/versions"
	"coderunner/runners"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// Language is the row.
var Language = guest.Language{
	Name: runners.QuickJS, Version: versions.QuickJSVersion, File: "main.js", Commands: []string{"qjs"},
	Module: &engine.Module{Name: "quickjs", Package: versions.QuickJS, File: versions.QuickJSModule, Imports: imports},
	Run:    run,
}

//go:embed prelude.js
var prelude string

// vm is QuickJS in an instance.
type vm struct {
	*engine.Instance
	c   *guest.Call
	ctx context.Context
	in  *bufio.Reader // of standard input; nil: nothing was read yet
	booted
	failing bool // it has failed already
	// rejected are reasons of promises that nothing has handled, by the promises.
	rejected map[uint32]uint32
}

// booted is the state of QuickJS that has begun.
type booted struct {
	Helpers uint32 // the function that prelude.js returns
	Random  uint32 // address of the state of Math.random, 0 if it is not known
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
	v := &vm{c: c, ctx: ctx, rejected: map[uint32]uint32{}}
	return c.Interpret(ctx, "qjs", v.boot, func(in *engine.Instance, state []byte) int {
		v.Instance, in.State = in, v
		if json.Unmarshal(state, &v.booted) == nil && v.Random != 0 {
			v.Mem.PutUint64(v.Random, rand.Uint64()|1)
		}
		err := engine.Guard(func() { v.main(name, code) })
		failed, fails := errors.AsType[*failure](err)
		if err != nil && !fails {
			engine.Stop(err)
		}
		if v.c.Goes() {
			var variables []runners.Variable
			if json.Unmarshal([]byte(v.ask("names", 0)), &variables) == nil {
				v.c.Leave(in, state, variables, err == nil)
			}
		}
		if !fails {
			return 0
		}
		fmt.Fprintln(c.Stderr(ctx), failed.trace)
		if c.Report != nil {
			c.Report.Error = failed.error(name)
		}
		return 1
	})
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
	b, err := guest.Read(ctx, c.Process, args[0], maxFile)
	return args[0], string(b), args[1:], err
}

// maxFile bounds a file that is read as a whole, in bytes.
const maxFile = 256 << 20

// boot makes a context with what programs find.
func (v *vm) boot(in *engine.Instance) (state []byte) {
	v.Instance, in.State = in, v
	v.Must("_initialize")
	v.Must("qjs_init")
	v.Must("qjs_set_max_stack_size", maxStack)
	v.Must("qjs_set_module_loader", 1)
	v.Must("qjs_set_promise_rejection_handler", 1)
	v.Helpers = v.value(v.Must("qjs_eval", prelude, len(prelude), "<coderunner>", asScript))
	v.Helpers = v.apply("host", v.Must("qjs_new_host_function", "host", len("host"), 0))
	v.Random = v.findRandom(v.ask("random", 0))
	state, _ = json.Marshal(v.booted) // it never fails
	return state
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

// main runs a program until nothing is left to do.
func (v *vm) main(name, code string) {
	if strings.HasPrefix(code, "#!") {
		code = "//" + code
	}
	v.ask("again", 0)
	eval := func(flags int) uint32 { return v.value(v.Must("qjs_eval", code, len(code), name, flags)) }
	flags := mayAwait
	// It is a module by its name, or since it is no script, as Node decides.
	if strings.HasSuffix(name, ".mjs") {
		flags = asModule
	} else if err := engine.Guard(func() { eval(compiled | mayAwait) }); err != nil {
		if _, failed := errors.AsType[*failure](err); !failed {
			engine.Stop(err)
		}
		flags = asModule
	}
	promise := eval(flags)
	v.loop()
	const pending, rejected = 0, 2
	switch v.Must("qjs_promise_state", promise) {
	case pending:
		engine.Stop(&failure{kind: "Error", message: "the program awaits what never comes", trace: "qjs: the program awaits what never comes"})
	case rejected:
		v.fail(v.Must("qjs_promise_result", promise))
	}
	var pair [2]string
	if v.c.Report != nil && flags != asModule && json.Unmarshal([]byte(v.ask("value", v.Must("qjs_promise_result", promise))), &pair) == nil {
		v.c.Report.Result = runners.NewValue(pair[0], pair[1], maxResult)
	}
}

// loop performs jobs and timers until there are none.
func (v *vm) loop() {
	for {
		for v.Must("qjs_is_job_pending") != 0 {
			if int32(v.Must("qjs_execute_pending_job")) < 0 {
				v.fail(v.Must("qjs_get_exception"))
			}
		}
		for _, reason := range v.rejected {
			v.fail(reason)
		}
		ms, err := strconv.ParseFloat(v.ask("tick", 0), 64)
		if err != nil || ms < 0 {
			return
		}
		if ms > 0 {
			v.Sleep(v.ctx, time.Duration(ms*float64(time.Millisecond)))
		}
	}
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

// fail ends the program with what was thrown.
func (v *vm) fail(reason uint32) {
	if v.Helpers == 0 || v.failing { // it has taken from prelude.js what that tells of failures with
		text := v.text(reason)
		engine.Stop(&failure{"Error", text, "qjs: " + text})
	}
	v.failing = true
	var parts [3]string
	if err := json.Unmarshal([]byte(v.ask("failure", reason)), &parts); err != nil {
		engine.Stop(err)
	}
	v.failing = false
	engine.Stop(&failure{parts[0], parts[1], parts[2]})
}
