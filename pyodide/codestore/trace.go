package codestore

import (
	"reflect"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/dwarf"
)

// maxFrames bounds the frames of a trace.
const maxFrames = 20

// Trace returns the functions that the last call of f has not returned from, which has ended
// with an error: the innermost first. Those without a name are left out. The stub module is
// that of f, debug returns what has its lines; nil: nothing has.
func Trace(f api.Function, s *Stub, debug func() []byte) (list []dwarf.Frame) {
	stack := stack(f)
	places := s.placesOf(stack)
	var offsets []uint32
	for _, p := range places {
		offsets = append(offsets, p.of, p.call)
	}
	var lines [][]dwarf.Frame
	if places != nil && debug != nil {
		if d := dwarf.Open(debug()); d != nil {
			lines = d.Lookup(offsets)
		}
	}
	for k, f := range stack {
		here := []dwarf.Frame{{}}
		if lines != nil {
			inner, outer := lines[2*k], lines[2*k+1]
			if places[k].call == 0 {
				inner, outer = nil, inner
			}
			if here = append(inner, outer...); len(outer) == 0 {
				here = append(here, dwarf.Frame{})
			}
		}
		const none, mangled = "$", "_ZN"
		if last := &here[len(here)-1]; !strings.HasPrefix(f.name, none) && (last.Function == "" || !strings.HasPrefix(f.name, mangled)) {
			last.Function = f.name
		}
		list = append(list, slices.DeleteFunc(here, func(f dwarf.Frame) bool { return f.Function == "" })...)
	}
	return list[:min(len(list), maxFrames)]
}

// frame is a function of a stack.
type frame struct {
	name string // "$7" of the function 7 of a module without names
	at   int    // offset of the return address in the module's machine code
}

// stack returns the functions of its module that the last call of f has not returned from,
// the innermost first. wazero's error has them only as text, without offsets, and that of a
// stack that has grown too large has none.
//
// It reads fields that wazero does not export: internal/engine/wazevo, call_engine.go. If
// they are others there are no frames.
func stack(f api.Function) (frames []frame) {
	defer func() {
		if recover() != nil {
			frames = nil
		}
	}()
	call := reflect.ValueOf(f).Elem()
	ctx, module := field(call, "execCtx"), field(field(call, "parent").Elem(), "parent").Elem()
	code := field(field(module, "executables").Elem(), "executable").Bytes()
	starts := field(module, "functionOffsets").Interface().([]int)
	source := field(module, "module")
	imported := field(source.Elem(), "ImportFunctionCount").Uint()
	define := source.MethodByName("FunctionDefinition")
	add := func(pc uintptr) {
		at := int(pc - uintptr(unsafe.Pointer(unsafe.SliceData(code))))
		if at <= 0 || at > len(code) {
			return // a function of the host, or what wazero calls it by
		}
		n := sort.Search(len(starts), func(k int) bool { return starts[k] >= at }) - 1
		d := define.Call([]reflect.Value{reflect.ValueOf(uint32(imported) + uint32(max(n, 0)))})[0].Interface().(api.FunctionDefinition)
		frames = append(frames, frame{strings.TrimPrefix(d.DebugName(), "."), at})
	}
	add(field(ctx, "goCallReturnAddress").Pointer())
	sp, top := field(ctx, "stackPointerBeforeGoCall").Pointer(), uintptr(field(call, "stackTop").Uint())
	for _, pc := range unwindStack(sp, uintptr(field(ctx, "framePointerBeforeGoCall").Uint()), top, nil) {
		add(pc)
	}
	return frames
}

// unwindStack returns the return addresses on a stack, wasmdebug.MaxFrames at most.
//
//go:linkname unwindStack github.com/tetratelabs/wazero/internal/engine/wazevo.unwindStack
func unwindStack(sp, fp, top uintptr, list []uintptr) []uintptr
