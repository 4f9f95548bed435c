package jsffi

import (
	"context"
	"strings"

	"coderunner/pyodide/hostfn"
)

// The shapes of functions. Each takes strings of the form "name signature
// parameter…", of functions of one upstream file, and makes their rows.

// failing functions raise and return result, if they have one.
func failing(source string, result uint64, functions ...string) hostfn.Table {
	return rows(source, hostfn.Absent, "raises", functions, func(name string, results int) hostfn.Func {
		return func(ctx context.Context, stack []uint64) {
			raise(ctx, name)
			if results > 0 {
				stack[0] = result
			}
		}
	})
}

// answering functions return result: it is true of every value that can be.
func answering(source string, result uint64, note string, functions ...string) hostfn.Table {
	return rows(source, hostfn.Full, note, functions, func(_ string, results int) hostfn.Func {
		return func(_ context.Context, stack []uint64) {
			if results > 0 {
				stack[0] = result
			}
		}
	})
}

// throwing functions do not return.
func throwing(source string, functions ...string) hostfn.Table {
	return rows(source, hostfn.Absent, "ends the guest: it must not return", functions, func(name string, _ int) hostfn.Func {
		return func(context.Context, []uint64) { panic(&Thrown{name}) }
	})
}

// does makes the row of a function that is like no other.
func does(source, function string, support hostfn.Support, note string, fn hostfn.Func) hostfn.Table {
	return rows(source, support, note, []string{function}, func(string, int) hostfn.Func { return fn })
}

func rows(source string, support hostfn.Support, note string, functions []string, fn func(name string, results int) hostfn.Func) hostfn.Table {
	t := make(hostfn.Table, 0, len(functions))
	for _, f := range functions {
		name, sig, _ := strings.Cut(f, " ")
		sig, args, _ := strings.Cut(sig, " ")
		_, results, _ := strings.Cut(sig, ":")
		t = append(t, hostfn.Row{
			Module: "env", Name: name, Sig: sig, Args: args, Source: "Pyodide src/core/" + source,
			Support: support, Note: note, Fn: fn(name, len(results)),
		})
	}
	return t
}

const minusOne = ^uint64(0)
