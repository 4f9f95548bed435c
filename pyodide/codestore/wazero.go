package codestore

import (
	"reflect"
	"unsafe"
)

// field returns a field of a struct, exported or not.
func field(s reflect.Value, name string) reflect.Value {
	f := s.FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}
