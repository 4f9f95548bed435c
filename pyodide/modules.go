package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"coderunner/internal/lazyregexp"
	"coderunner/pyodide/gofunc"
)

// Module is a module of Go functions, for programs to import: by their names in Python.
//
// A function may take a context first, which ends with the run, and return an error last,
// which becomes an exception: an [Exception] the one of that type, fs.ErrNotExist a
// FileNotFoundError, another error a RuntimeError. Its other parameters and results are
// bools, ints (a *big.Int for those of any size), floats, strings, []byte, slices, arrays,
// maps, structs, pointers, types that are texts (encoding.TextMarshaler), and any. A struct
// is a types.SimpleNamespace to a program, with the names that encoding/json has for its
// fields; where a function takes one, a dict or a dataclass will do, and keyword arguments
// if it is the last parameter.
//
// A call's arguments may take 4 MiB, in JSON. The program's clock goes on during calls, and
// its other threads run.
type Module map[string]any

// Async returns a function for a [Module] whose calls are awaitable in Python. It is called
// from a goroutine of its own, and its context ends, too, when the program cancels the
// call. More than 64 calls at once wait for each other.
func Async(function any) any { return async{function} }

type async struct{ function any }

// Error returns the exception as Python prints it.
func (e *Exception) Error() string { return e.Type + ": " + e.Message }

// Raises implements [gofunc.Raiser].
func (e *Exception) Raises() (class, message string) { return e.Type, e.Message }

const maxGoArguments = 4 << 20

var identifier = lazyregexp.New(`^[\pL_][\pL\pN_]*$`)

// withModules adds to the options what the modules call, and returns their texts.
func (o *Options) withModules() (texts map[string][]byte, err error) {
	if len(o.Modules) == 0 {
		return nil, nil
	}
	calls, texts := maps.Clone(o.Calls), map[string][]byte{}
	if calls == nil {
		calls = map[string]Call{}
	}
	awaited := awaitedCalls{open: map[int]awaitedCall{}}
	calls["go.open"] = Call{Do: awaited.begin}
	calls["go.cancel"] = Call{Do: awaited.cancel}
	for module, functions := range o.Modules {
		text := []byte("from _coderunner_go import bind, bind_async\n")
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			if !identifier.MatchString(module) || !identifier.MatchString(name) {
				return nil, fmt.Errorf("the module %q cannot have a function %q: these are no identifiers", module, name)
			}
			function, bind := functions[name], "bind"
			if a, ok := function.(async); ok {
				function, bind = a.function, "bind_async"
			}
			f, err := gofunc.New(module+"."+name, function)
			if err != nil {
				return nil, err
			}
			calls["go "+module+"."+name] = Call{MaxArgument: maxGoArguments, Do: awaited.caller(f)}
			text = fmt.Appendf(text, "%s = %s(%q, %q, %q)\n", name, bind, module, name, f.String())
		}
		texts[SitePackages+"/"+module+".py"] = text
	}
	o.Calls = calls
	return texts, nil
}

// awaitedCalls are the calls that a program awaits, by their keys.
type awaitedCalls struct {
	mu   sync.Mutex
	last int
	open map[int]awaitedCall
}

type awaitedCall struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// maxAwaited bounds the calls that a program has begun to await.
const maxAwaited = 10_000

// begin returns the key of a call that is to come.
func (a *awaitedCalls) begin(context.Context, json.RawMessage) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= maxAwaited {
		return nil, errors.New("too many calls are awaited")
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.last++
	a.open[a.last] = awaitedCall{ctx, cancel}
	return a.last, nil
}

// cancel ends the call with a key, or has it fail when it comes.
func (a *awaitedCalls) cancel(_ context.Context, argument json.RawMessage) (any, error) {
	var key int
	err := json.Unmarshal(argument, &key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, ok := a.open[key]; ok {
		one.cancel()
		delete(a.open, key)
	}
	return nil, err
}

// caller returns what a program calls for a function.
func (a *awaitedCalls) caller(f *gofunc.Function) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, argument json.RawMessage) (any, error) {
		var call struct {
			Args, Options json.RawMessage
			Key           int
		}
		if err := json.Unmarshal(argument, &call); err != nil {
			return nil, err
		}
		if call.Key != 0 {
			a.mu.Lock()
			one, ok := a.open[call.Key]
			a.mu.Unlock()
			if !ok {
				return nil, context.Canceled
			}
			defer func() { _, _ = a.cancel(ctx, fmt.Append(nil, call.Key)) }()
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			defer context.AfterFunc(one.ctx, end)()
		}
		return f.Call(ctx, call.Args, call.Options), nil
	}
}
