package quickjs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/pyodide/hostfn"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/preview1"
)

// source is the package's own host.
const source = "quickjs-wasi, dist/index.js"

// imports are what the module wants besides WASI's functions.
func imports() hostfn.Table {
	row := func(name, sig, args string, f func(v *vm, stack []uint64) uint64) hostfn.Row {
		return hostfn.Row{Module: "env", Name: name, Sig: sig, Args: args, Source: source, Support: hostfn.Full,
			Fn: func(ctx context.Context, stack []uint64) {
				result := f(engine.FromContext(ctx).State.(*vm), stack)
				if strings.HasSuffix(sig, ":i") {
					stack[0] = result
				}
			}}
	}
	return hostfn.Table{
		row("host_get_timezone_offset", "ii:i", "high low", func(*vm, []uint64) uint64 { return 0 }), // UTC
		row("host_interrupt", ":i", "", func(*vm, []uint64) uint64 { return 0 }),                     // the rewritten loops do that
		row("host_promise_rejection", "iii:", "promise reason handled", (*vm).rejection),
		row("host_module_normalize", "ii:i", "base name", (*vm).normalize),
		row("host_module_load", "ii:i", "name length", (*vm).load),
		row("host_call", "iiiii:i", "name n this argc argv", (*vm).host),
	}
}

// must ends the module for an error of a call from within a host function.
func must(value uint64, err error) uint64 {
	if err != nil {
		panic(err)
	}
	return value
}

// maxRejected bounds the rejected promises that are kept.
const maxRejected = 1000

func (v *vm) rejection(stack []uint64) uint64 {
	promise, reason, handled := uint32(stack[0]), uint32(stack[1]), stack[2] != 0
	id := uint32(must(v.Call("qjs_get_value_ptr", uint64(promise))))
	if handled {
		delete(v.rejected, id)
	} else if len(v.rejected) < maxRejected {
		v.rejected[id] = reason
	}
	return 0
}

// normalize resolves a module's name relative to another's.
func (v *vm) normalize(stack []uint64) uint64 {
	base, _, ok := v.Mem.CString(uint32(stack[0]), maxName)
	name, _, ok2 := v.Mem.CString(uint32(stack[1]), maxName)
	if !ok || !ok2 {
		return v.throw("the name of a module is too long")
	}
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		name = path.Join(path.Dir(base), name)
	}
	at, _, err := v.put(name + "\x00")
	return must(uint64(at), err)
}

const maxName = abi.PATH_MAX

// builtin returns a module that programs know of QuickJS, "" if there is none of the name.
func builtin(name string) string {
	switch strings.TrimPrefix(name, "qjs:") {
	case "std":
		return names("std", "loadFile writeFile exit getenv getenviron in out err gc")
	case "os":
		return names("os", "readdir remove mkdir getcwd sleep now setTimeout clearTimeout platform")
	}
	return ""
}

// names returns a module that exports properties of a global.
func names(global, list string) string {
	var b strings.Builder
	for _, name := range strings.Fields(list) {
		fmt.Fprintf(&b, "const $%[2]s = globalThis.%[1]s.%[2]s; export { $%[2]s as %[2]s };\n", global, name) // some are keywords
	}
	return b.String()
}

// load returns a module's text.
func (v *vm) load(stack []uint64) uint64 {
	name, _, ok := v.Mem.CString(uint32(stack[0]), maxName)
	if !ok {
		return v.throw("the name of a module is too long")
	}
	code := builtin(name)
	if code == "" {
		b, err := readFile(v.ctx, v.c, name)
		if err != nil {
			return v.throw("could not load module " + err.Error())
		}
		code = string(b)
	}
	at, n, err := v.put(code + "\x00")
	must(0, err)
	v.Mem.PutUint32(uint32(stack[1]), n-1)
	return uint64(at)
}

// throw throws an Error and returns what a host function then does.
func (v *vm) throw(text string) uint64 {
	e := must(v.Call("qjs_new_error"))
	message, err := v.newString(text)
	must(0, err)
	name, _, err := v.put("message\x00")
	must(0, err)
	must(v.Call("qjs_set_prop_string", e, uint64(name), uint64(message)))
	must(v.Call("qjs_throw", e))
	return 0
}

// host is host(operation, text...): its answer begins with "=", or with "!" if it is an error.
func (v *vm) host(stack []uint64) uint64 {
	argc, argv := uint32(stack[3]), uint32(stack[4])
	var args []string
	for i := range min(argc, 4) {
		at, ok := v.Mem.Uint32(argv + 4*i)
		if !ok {
			return v.throw("bad arguments")
		}
		text, err := v.text(at)
		must(0, err)
		args = append(args, text)
	}
	for len(args) < 3 {
		args = append(args, "")
	}
	answer, err := v.do(args[0], args[1], args[2])
	mark := "="
	if err != nil {
		mark, answer = "!", err.Error()
	}
	text, err := v.newString(mark + answer)
	return must(uint64(text), err)
}

// do performs an operation of the prelude.
func (v *vm) do(operation, a, b string) (string, error) {
	ctx, c := v.ctx, v.c
	switch operation {
	case "write":
		w := c.Stdout(ctx)
		if a == "2" {
			w = c.Stderr(ctx)
		}
		_, err := w.Write([]byte(b))
		if ctx.Err() != nil {
			panic(&preview1.Stopped{Err: context.Cause(ctx)})
		}
		return "", err
	case "read":
		text, err := readFile(ctx, c, a)
		return string(text), err
	case "save":
		f, errno := c.Open(ctx, a, abi.O_WRONLY|abi.O_CREAT|abi.O_TRUNC, 0o666)
		if errno != abi.OK {
			return "", fmt.Errorf("%s: %w", a, errno)
		}
		defer f.Close()
		_, err := c.Writer(ctx, f).Write([]byte(b))
		return "", err
	case "exit":
		code, _ := strconv.Atoi(a)
		panic(&preview1.Exit{Code: uint32(code)})
	case "sleep":
		ms, _ := strconv.ParseFloat(a, 64)
		v.Sleep(ctx, time.Duration(ms*float64(time.Millisecond)))
		return "", nil
	case "stdin", "line":
		return v.input(operation == "line")
	case "dir":
		return c.Dir, nil
	}
	return v.inspect(operation, a)
}

// inspect performs an operation that returns JSON, or changes a directory.
func (v *vm) inspect(operation, name string) (string, error) {
	c := v.c
	var value any
	switch operation {
	case "args":
		value = c.Args
	case "env":
		env := map[string]string{}
		for _, s := range c.Env {
			name, text, _ := strings.Cut(s, "=")
			env[name] = text
		}
		value = env
	case "list":
		f, errno := c.Open(v.ctx, name, abi.O_RDONLY|abi.O_DIRECTORY, 0)
		if errno != abi.OK {
			return "", errno
		}
		defer f.Close()
		list := []string{}
		f.ReadDir(func(e abi.Dirent) bool { list = append(list, e.Name); return true })
		value = list
	case "mkdir", "remove":
		dir, errno := c.FS().Lookup(nil, c.Dir, true)
		switch {
		case errno != abi.OK:
		case operation == "mkdir":
			errno = c.FS().Mkdir(dir, name, 0o777&^c.Umask)
		default:
			if errno = c.FS().Unlink(dir, name); errno == abi.EISDIR || errno == abi.EPERM {
				errno = c.FS().Rmdir(dir, name)
			}
		}
		return "", errno.Err()
	default:
		return "", errors.New("there is no operation " + operation)
	}
	b, err := json.Marshal(value)
	return string(b), err
}

// input reads a line, with its end, or all that is left.
func (v *vm) input(line bool) (string, error) {
	in, ok := v.in.(*bufio.Reader)
	if !ok {
		in = bufio.NewReader(v.in)
		v.in = in
	}
	var b strings.Builder
	for b.Len() < maxFile {
		part, err := in.ReadString('\n')
		b.WriteString(part)
		if err != nil || line {
			break
		}
	}
	if v.ctx.Err() != nil {
		panic(&preview1.Stopped{Err: context.Cause(v.ctx)})
	}
	return b.String(), nil
}

// put puts a text into the module's memory.
func (v *vm) put(text string) (at, n uint32, err error) {
	p, err := v.Call("wasm_malloc", uint64(max(1, len(text))))
	if err == nil && (p == 0 || !v.Mem.Put(uint32(p), []byte(text))) {
		err = &engine.Unsupported{Text: "QuickJS has no memory left"}
	}
	return uint32(p), uint32(len(text)), err
}

// free lets go of what put has put.
func (v *vm) free(at uint32) error {
	_, err := v.Call("wasm_free", uint64(at))
	return err
}

func (v *vm) newString(text string) (uint32, error) {
	at, n, err := v.put(text)
	if err != nil {
		return 0, err
	}
	s, err := v.Call("qjs_new_string", uint64(at), uint64(n))
	if err == nil {
		err = v.free(at)
	}
	return uint32(s), err
}

// text returns the string of a value.
func (v *vm) text(value uint32) (string, error) {
	size, _, err := v.put("\x00\x00\x00\x00")
	if err != nil {
		return "", err
	}
	at, err := v.Call("qjs_get_string_len", uint64(value), uint64(size))
	if err != nil {
		return "", err
	}
	n, _ := v.Mem.Uint32(size)
	b, ok := v.Mem.Bytes(uint32(at), n)
	if at == 0 || !ok {
		return "", nil
	}
	text := string(b)
	if err := v.free(size); err != nil {
		return "", err
	}
	_, err = v.Call("qjs_free_cstring", at)
	return text, err
}

// eval evaluates a program.
func (v *vm) eval(code, name string, flags uint64) (uint32, error) {
	at, n, err := v.put(code + "\x00")
	if err != nil {
		return 0, err
	}
	file, _, err := v.put(name + "\x00")
	if err != nil {
		return 0, err
	}
	return v.checked(v.Call("qjs_eval", uint64(at), uint64(n-1), uint64(file), flags))
}

// checked returns a value, or the exception that it stands for as an error.
func (v *vm) checked(value uint64, err error) (uint32, error) {
	if err != nil {
		return 0, err
	}
	is, err := v.Call("qjs_is_exception", value)
	if err == nil && is != 0 {
		err = v.exception()
	}
	return uint32(value), err
}

func (v *vm) property(object uint32, name string) (uint32, error) {
	at, _, err := v.put(name + "\x00")
	if err != nil {
		return 0, err
	}
	return v.checked(v.Call("qjs_get_prop_string", uint64(object), uint64(at)))
}

// apply calls a function with an argument, 0 for none.
func (v *vm) apply(function, argument uint32) (uint32, error) {
	undefined, err := v.Call("qjs_get_undefined")
	if err != nil {
		return 0, err
	}
	argc, args := uint64(0), uint32(0)
	if argument != 0 {
		list := []byte{byte(argument), byte(argument >> 8), byte(argument >> 16), byte(argument >> 24)}
		if args, _, err = v.put(string(list)); err != nil {
			return 0, err
		}
		argc = 1
	}
	return v.checked(v.Call("qjs_call", uint64(function), undefined, argc, uint64(args)))
}

// ask calls a helper of the prelude, which returns a string.
func (v *vm) ask(helper string, argument uint32) (string, error) {
	answer, err := v.apply(v.Helpers[helper], argument)
	if err != nil {
		return "", err
	}
	return v.text(answer)
}
