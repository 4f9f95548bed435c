package quickjs

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/preview1"
	"coderunner/pyodide/hostfn"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// imports are what the module wants besides WASI's functions.
func imports() hostfn.Table {
	row := func(name, sig, args string, f func(v *vm, arg []uint64) uint32) hostfn.Row {
		return hostfn.Row{Module: "env", Name: name, Sig: sig, Args: args, Source: "quickjs-wasi, dist/index.js", Support: hostfn.Full,
			Fn: func(ctx context.Context, stack []uint64) {
				if result := f(engine.FromContext(ctx).State.(*vm), stack); strings.HasSuffix(sig, ":i") {
					stack[0] = uint64(result)
				}
			}}
	}
	zero := func(*vm, []uint64) uint32 { return 0 }
	return hostfn.Table{
		row("host_get_timezone_offset", "ii:i", "high low", zero), // UTC
		row("host_interrupt", ":i", "", zero),                     // the rewritten loops do that
		row("host_promise_rejection", "iii:", "promise reason handled", (*vm).rejection),
		row("host_module_normalize", "ii:i", "base name", func(v *vm, arg []uint64) uint32 {
			return v.resolve("normalize", v.name(arg[1])+"\x00"+v.name(arg[0]), 0)
		}),
		row("host_module_load", "ii:i", "name length", func(v *vm, arg []uint64) uint32 {
			return v.resolve("load", v.name(arg[0]), uint32(arg[1]))
		}),
		row("host_call", "iiiii:i", "name n this argc argv", (*vm).host),
	}
}

// maxRejected bounds the rejected promises that are kept, maxName the names of modules.
const maxRejected, maxName = 1000, 64 << 10

func (v *vm) rejection(arg []uint64) uint32 {
	id := v.Must("qjs_get_value_ptr", uint32(arg[0]))
	if handled := arg[2] != 0; handled {
		delete(v.rejected, id)
	} else if len(v.rejected) < maxRejected {
		v.rejected[id] = uint32(arg[1])
	}
	return 0
}

// name returns the name of a module.
func (v *vm) name(at uint64) string {
	name, _, ok := v.Mem.CString(uint32(at), maxName)
	if !ok {
		engine.Stop(&engine.Unsupported{Text: "the name of a module is too long"})
	}
	return name
}

// resolve returns the address of a text that prelude.js has for a module, with its length
// where that is wanted; 0 while what it threw is pending.
func (v *vm) resolve(helper, name string, length uint32) uint32 {
	answer := v.apply(helper, v.string(name))
	if v.Must("qjs_is_exception", answer) != 0 {
		return 0
	}
	text := v.text(answer)
	if length != 0 {
		v.Mem.PutUint32(length, uint32(len(text)))
	}
	return v.Put(text + "\x00")
}

// host is host(operation, text...): its answer begins with "=", or with "!" if it is an error.
func (v *vm) host(arg []uint64) uint32 {
	var args [3]string
	for i := range min(uint32(arg[3]), 3) {
		args[i] = v.text(v.Word(uint32(arg[4]) + 4*i))
	}
	answer, err := v.do(args[0], args[1], args[2])
	if err != nil {
		return v.string("!" + err.Error())
	}
	return v.string("=" + answer)
}

// do performs an operation of the prelude.
func (v *vm) do(operation, a, b string) (string, error) {
	ctx, c := v.ctx, v.c
	defer func() {
		if ctx.Err() != nil {
			engine.Stop(&preview1.Stopped{Err: context.Cause(ctx)})
		}
	}()
	number, _ := strconv.ParseFloat(a, 64)
	switch operation {
	case "write":
		w := c.Stdout(ctx)
		if a == "2" {
			w = c.Stderr(ctx)
		}
		_, err := io.WriteString(w, b)
		return "", err
	case "read":
		text, err := guest.Read(ctx, c.Process, a, maxFile)
		return string(text), err
	case "save":
		return "", guest.Write(ctx, c.Process, a, []byte(b), 0o666)
	case "exit":
		engine.Stop(&preview1.Exit{Code: uint32(int64(number))})
	case "sleep":
		v.Sleep(ctx, time.Duration(number*float64(time.Millisecond)))
	case "input":
		return v.input(a == "line"), nil
	case "process":
		text, err := json.Marshal(map[string]any{"args": c.Args, "env": c.Env, "dir": c.Dir})
		return string(text), err
	case "list":
		f, errno := c.Open(ctx, a, abi.O_RDONLY|abi.O_DIRECTORY, 0)
		if errno != abi.OK {
			return "", errno
		}
		defer f.Close()
		list := []string{}
		errno = f.ReadDir(func(e abi.Dirent) bool { list = append(list, e.Name); return true })
		text, err := json.Marshal(list)
		return string(text), errors.Join(errno.Err(), err)
	case "mkdir", "remove":
		dir, errno := c.FS().Lookup(nil, c.Dir, true)
		switch {
		case errno != abi.OK:
		case operation == "mkdir":
			errno = c.FS().Mkdir(dir, a, 0o777&^c.Umask)
		default:
			if errno = c.FS().Unlink(dir, a); errno == abi.EISDIR || errno == abi.EPERM {
				errno = c.FS().Rmdir(dir, a)
			}
		}
		return "", errno.Err()
	default:
		return "", fmt.Errorf("there is no operation %s", operation)
	}
	return "", nil
}

// input reads a line, with its end, or all that is left.
func (v *vm) input(line bool) string {
	if v.in == nil {
		v.in = bufio.NewReader(v.c.Stdin(v.ctx))
	}
	var b strings.Builder
	for b.Len() < maxFile {
		part, err := v.in.ReadString('\n')
		b.WriteString(part)
		if err != nil || line {
			break
		}
	}
	return b.String()
}

func (v *vm) string(text string) uint32 { return v.Must("qjs_new_string", text, len(text)) }

// text returns the string of a value, "" of what is none.
func (v *vm) text(value uint32) (text string) {
	size := v.Put("\x00\x00\x00\x00")
	if at := v.Must("qjs_get_string_len", value, size); at != 0 {
		text = v.Text(at, v.Word(size))
		v.Must("qjs_free_cstring", at)
	}
	v.Must("free", size)
	return text
}

// value returns a value, or throws what ends the program.
func (v *vm) value(value uint32) uint32 {
	if v.Must("qjs_is_exception", value) != 0 {
		v.fail(v.Must("qjs_get_exception"))
	}
	return value
}

// apply calls a helper of prelude.js with a value, 0 for none, and ask has the text that it returns.
func (v *vm) apply(helper string, value uint32) uint32 {
	undefined := v.Must("qjs_get_undefined")
	args := binary.LittleEndian.AppendUint32(nil, v.string(helper))
	args = binary.LittleEndian.AppendUint32(args, cmp.Or(value, undefined))
	return v.Must("qjs_call", v.Helpers, undefined, 2, string(args))
}

func (v *vm) ask(helper string, value uint32) string { return v.text(v.value(v.apply(helper, value))) }
