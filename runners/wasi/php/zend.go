package php

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/runners/wasi/engine"
	"coderunner/runners/wasi/guest"
)

// The build is a program, of which only _start can be called, and it has no names. What follows
// is true of the module of versions.PHP: numbers of its functions and addresses in its memory.
// In its data, the table of PHP's functions has call_user_func by its name, and spl_autoload,
// which calls compile_file, by the pointer zend_compile_file, zend_destroy_file_handle and
// zend_execute. What main calls last for a request is php_request_shutdown; php_error_cb sets
// exit_status to 255, and zend_throw_exception_internal begins with exception and
// current_execute_data.
var functions = map[string]uint32{"malloc": 11684, "compile_file": 4777, "zend_execute": 5602, "zend_destroy_file_handle": 6746, "call_user_func": 3553, "php_request_shutdown": 4418}

const (
	exception  = 9890324 // EG(exception)
	current    = 9890060 // EG(current_execute_data)
	exitStatus = 9890028 // EG(exit_status)
)

// vm is PHP in an instance.
//
//	_start ── prelude.php ── bails out: the functions of C are left, and their memory stays
//	                            └─ begin ── the program ── shutdown ── finish ── the next one of a session
//
// PHP leaves C's functions by longjmp where nothing can go on (zend_bailout). The build has no
// longjmp and traps; all that it would jump over is in functions that nobody returns to.
type vm struct {
	*engine.Instance
	c      *guest.Call
	bailed bool // the program has ended by a fatal error
}

// boot begins PHP, which reads prelude.php on standard input.
func (v *vm) boot(in *engine.Instance) []byte {
	v.Instance = in
	v.Bare(command...)
	v.Replace(0, v.c.FS().NewFile(memfs.NewInput(strings.NewReader(prelude)), abi.O_RDONLY, abi.S_IFIFO|0o400))
	err := engine.Guard(func() { v.Must("_start") })
	if end := v.End(err); end.Trap != bailout {
		engine.Stop(&engine.Unsupported{Text: "PHP cannot begin: " + end.Trap})
	}
	v.Mem.PutUint32(current, 0)
	stdin := v.c.File(0)
	if stdin != nil {
		stdin.Ref()
	}
	v.Replace(0, stdin)
	return nil
}

// bailout is the trap that zend_bailout is.
const bailout = "unreachable"

// main runs a program and returns its exit status.
func (v *vm) main(p program) int {
	text, _ := json.Marshal(p) // it never fails
	v.Mem.PutUint32(exitStatus, 0)
	v.user("begin", v.text(string(text)))
	v.script("coderunner://program")
	if thrown := v.Word(exception); thrown != 0 {
		const isObject = 8 | 3<<8 // with its flags
		v.Mem.PutUint32(exception, 0)
		v.user("failed", value{thrown, isObject})
	}
	v.user("shutdown")
	text = []byte(v.user("finish"))
	status := int(v.Word(exitStatus) & 0xff)
	if v.c.Report != nil {
		v.report(string(text), status)
	}
	if !v.c.Goes() { // else its objects go on
		v.leave(func() { v.Must("php_request_shutdown") })
		status = int(v.Word(exitStatus) & 0xff)
	}
	return status
}

// value is a zval.
type value struct{ value, kind uint32 }

const sizeOfValue, isString = 16, 6

// script runs a file where no function is, so that its variables are global ones.
func (v *vm) script(name string) {
	const handle, filename, asRequired = 40, 20, 8 // the bytes of zend_file_handle, and where its name is
	file := make([]byte, handle)
	binary.LittleEndian.PutUint32(file[filename:], v.text(name).value)
	v.bailed = true
	v.leave(func() {
		at := v.Put(string(file))
		code := v.Must("compile_file", at, asRequired)
		v.Must("zend_destroy_file_handle", at)
		if code != 0 { // else it throws
			v.Must("zend_execute", code, v.Put(string(make([]byte, sizeOfValue))))
		}
		v.bailed = false
	})
}

// user calls a function of prelude.php as PHP calls what a program has registered for its end,
// with a frame as zend_execute.c makes them, and returns the string that it returns.
func (v *vm) user(name string, args ...value) (result string) {
	const header, count = 48, 28 // the bytes before a frame's values, and where their number is
	args = append([]value{v.text(`Coderunner\` + name)}, args...)
	le := binary.LittleEndian
	frame := make([]byte, header)
	le.PutUint32(frame[count:], uint32(len(args)))
	for _, a := range append(args, value{}) { // the last one is for the result
		frame = le.AppendUint64(le.AppendUint64(frame, uint64(a.value)), uint64(a.kind))
	}
	v.leave(func() {
		at := v.Put(string(frame))
		to := at + uint32(len(frame)) - sizeOfValue
		v.Must("call_user_func", at, to)
		if v.Word(to+8)&0xff == isString {
			s := v.Word(to)
			result = v.Text(s+16, min(v.Word(s+12), maxText))
		}
	})
	return result
}

// leave calls functions of PHP's, which may bail out.
func (v *vm) leave(f func()) {
	err := v.Catch(f)
	if err != nil && (v.Refused() || v.End(err).Trap != bailout) {
		engine.Stop(err)
	}
	v.Mem.PutUint32(current, 0)
}

// maxText bounds what is read of PHP, in bytes.
const maxText = 1 << 20

// text makes a zend_string that is never freed, of a version of PHP with numbers of 32 bits.
func (v *vm) text(s string) value {
	const interned = isString | 1<<6
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 1)
	b = le.AppendUint32(b, interned)
	b = le.AppendUint32(b, 0) // its hash, which is not known yet
	b = le.AppendUint32(b, uint32(len(s)))
	return value{v.Put(string(b) + s + "\x00"), isString}
}
