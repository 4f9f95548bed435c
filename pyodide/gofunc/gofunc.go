// Package gofunc calls Go functions with Python values and converts their results:
// [pyodide.Options.Modules] is built on it. It knows no interpreter; package pyodide carries
// the texts, and guest/lib/_coderunner_go.py is the other half.
//
// # The texts
//
// Values cross in JSON. None, bool, int, float, str and list are what JSON has for them;
// a float has a point or an exponent. An object has one member, whose name is the kind:
//
//	b  bytes, in base64
//	f  a float that JSON lacks: nan, inf, -inf
//	m  a dict, as a list of pairs
//	s  a struct, as a list of pairs; from Go only
//	t  a tuple, of several results; from Go only
//
// What comes from a program is untrusted: package pyodide bounds its length, and
// encoding/json its depth.
package gofunc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
)

// Function is a Go function that programs can call.
type Function struct {
	name    string
	f       reflect.Value
	context bool // it takes one first
	fails   bool // its last result is an error
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// New returns a function by its name in Python. The error says which of its types no value
// of Python has.
func New(name string, function any) (*Function, error) {
	f := &Function{name: name, f: reflect.ValueOf(function)}
	if f.f.Kind() != reflect.Func || f.f.IsNil() {
		return nil, fmt.Errorf("%s is no function, but %T", name, function)
	}
	t := f.f.Type()
	f.context = t.NumIn() > 0 && t.In(0) == contextType
	f.fails = t.NumOut() > 0 && t.Out(t.NumOut()-1) == errorType
	seen := map[reflect.Type]bool{}
	for i := f.first(); i < t.NumIn(); i++ {
		if err := crosses(t.In(i), seen); err != nil {
			return nil, fmt.Errorf("parameter %d of %s: %w", i-f.first()+1, name, err)
		}
	}
	for i := range f.results() {
		if err := crosses(t.Out(i), seen); err != nil {
			return nil, fmt.Errorf("result %d of %s: %w", i+1, name, err)
		}
	}
	return f, nil
}

// String returns the function's name and type.
func (f *Function) String() string {
	return f.name + strings.TrimPrefix(f.f.Type().String(), "func")
}

// first is the index of the first parameter that the program has an argument for.
func (f *Function) first() int {
	if f.context {
		return 1
	}
	return 0
}

// results is the number of results that the program gets.
func (f *Function) results() int {
	if f.fails {
		return f.f.Type().NumOut() - 1
	}
	return f.f.Type().NumOut()
}

// Answer is what a call returns to the program: a value, or the class and the message of
// an exception.
type Answer struct {
	Value     json.RawMessage `json:"v,omitempty"`
	Exception *[2]string      `json:"e,omitempty"`
}

// Call calls the function. Options are a program's keyword arguments, which fill the last
// parameter if that is a struct or a map.
func (f *Function) Call(ctx context.Context, args, options json.RawMessage) Answer {
	value, err := f.call(ctx, args, options)
	if err != nil {
		class, message := exception(err)
		return Answer{Exception: &[2]string{class, message}}
	}
	return Answer{Value: value}
}

func (f *Function) call(ctx context.Context, args, options json.RawMessage) (json.RawMessage, error) {
	in, err := f.arguments(args, options)
	if err != nil {
		return nil, err
	}
	if f.context {
		in = append([]reflect.Value{reflect.ValueOf(ctx)}, in...)
	}
	out := f.f.Call(in)
	if f.fails {
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			return nil, err
		}
		out = out[:len(out)-1]
	}
	var value any
	switch len(out) {
	case 0:
	case 1:
		value, err = encode(out[0], 0)
	default:
		list := make([]any, len(out))
		for i := range out {
			if list[i], err = encode(out[i], 0); err != nil {
				break
			}
		}
		value = tagged{"t": list}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the result: %w", f.name, err)
	}
	return json.Marshal(value)
}

// arguments returns the values of the parameters, but for a context.
func (f *Function) arguments(args, options json.RawMessage) ([]reflect.Value, error) {
	var given []any
	var named any
	if err := errors.Join(read(args, &given), read(options, &named)); err != nil {
		return nil, err
	}
	t := f.f.Type()
	want := t.NumIn() - f.first()
	names := want > 0 && !t.IsVariadic() && hasNames(t.In(t.NumIn()-1))
	switch {
	case named != nil && !names:
		return nil, classed{"TypeError", f.name + " takes no keyword arguments"}
	case named != nil:
		given = append(given, named)
	case names && len(given) == want-1:
		given = append(given, map[string]any{"m": []any{}})
	}
	if len(given) != want && !(t.IsVariadic() && len(given) >= want-1) {
		return nil, classed{"TypeError", fmt.Sprintf("%s takes %d arguments, not %d: %s", f.name, want, len(given), f)}
	}
	values := make([]reflect.Value, len(given))
	for i, arg := range given {
		to := t.In(min(i+f.first(), t.NumIn()-1))
		if t.IsVariadic() && i >= want-1 {
			to = to.Elem()
		}
		values[i] = reflect.New(to).Elem()
		if err := decode(arg, values[i]); err != nil {
			return nil, fmt.Errorf("argument %d of %s: %w", i+1, f.name, err)
		}
	}
	return values, nil
}

// hasNames reports whether keyword arguments can fill a parameter.
func hasNames(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !isText(t) || t.Kind() == reflect.Map && t.Key().Kind() == reflect.String
}

// classed is an error with the class of its exception.
type classed struct{ class, message string }

func (e classed) Error() string { return e.message }

// Raises implements [Raiser].
func (e classed) Raises() (class, message string) { return e.class, e.message }

// Raiser is an error that names the class of the exception that it becomes, one of
// Python's own.
type Raiser interface {
	error
	Raises() (class, message string)
}

// exception returns the class and the message of the exception that an error becomes.
func exception(err error) (class, message string) {
	var raiser Raiser
	if errors.As(err, &raiser) {
		class, message = raiser.Raises()
		if _, ours := raiser.(classed); ours {
			message = err.Error() // with what was added
		}
		return class, message
	}
	class = "RuntimeError"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		class = "FileNotFoundError"
	case errors.Is(err, fs.ErrPermission):
		class = "PermissionError"
	case errors.Is(err, context.DeadlineExceeded):
		class = "TimeoutError"
	}
	return class, err.Error()
}
