package codestore

import (
	"fmt"
	"reflect"
	"sort"
	"sync"

	"github.com/tetratelabs/wazero"
)

// adopt puts functions into a module that wazero has loaded without any. wazero unmaps the
// code, as its own, when nothing uses the module any more.
//
// It writes to fields that wazero does not export: internal/engine/wazevo, engine.go and
// engine_cache.go, as deserializeCompiledModule and addCompiledModuleToMemory do. An error
// reports that they are others, and that nothing was changed.
func adopt(module wazero.CompiledModule, offsets []int, code []byte) (adopted bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errNotAdopted, r)
		}
	}()
	m := reflect.ValueOf(module).Elem()
	engine := field(m, "compiledEngine").Elem().Elem()
	mux := field(engine, "mux").Addr().Interface().(*sync.RWMutex)
	mux.Lock()
	defer mux.Unlock()
	source := field(m, "module").Elem()
	exports := field(source, "ExportSection")
	loaded := field(field(engine, "compiledModules").MapIndex(field(source, "ID")).Elem(), "compiledModule")
	executable := func(loaded reflect.Value) reflect.Value {
		return field(field(loaded.Elem(), "executables").Elem(), "executable")
	}
	functions, own, sorted := field(loaded.Elem(), "functionOffsets"), executable(loaded), field(engine, "sortedCompiledModules")
	// For the stack trace of the first trap or exit wazero compares each function with each
	// export, 128 million times for CPython. It finds exports by a map.
	exports.SetZero()
	if own.Len() > 0 { // it was loaded before, and is the same one
		return false, nil
	}
	n := sorted.Len()
	at := sort.Search(n, func(i int) bool { return executable(sorted.Index(i)).Pointer() >= reflect.ValueOf(code).Pointer() })
	list := reflect.Append(sorted, loaded)
	functions.Set(reflect.ValueOf(offsets))
	own.Set(reflect.ValueOf(code))
	reflect.Copy(list.Slice(at+1, n+1), list.Slice(at, n))
	list.Index(at).Set(loaded)
	sorted.Set(list)
	return true, nil
}
