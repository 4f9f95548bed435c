package libffi

import (
	"errors"
	"fmt"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// Numbers of ffi_type.type.
const (
	typeVoid       = 0
	typeInt        = 1
	typeFloat      = 2
	typeDouble     = 3
	typeLongDouble = 4
	typeUint8      = 5
	typeSint8      = 6
	typeUint16     = 7
	typeSint16     = 8
	typeUint32     = 9
	typeSint32     = 10
	typeUint64     = 11
	typeSint64     = 12
	typeStruct     = 13
	typePointer    = 14
	typeComplex    = 15
)

// Bounds on what a guest may describe.
const (
	maxArgs   = 255
	maxUnbox  = 64
	maxStruct = 1 << 20 // bytes, of all structures together
)

var errBadAddress = errors.New("address out of range")

// param is an argument's or a result's type, structures of one member replaced
// by that member.
type param struct {
	id          uint16
	size, align uint32 // of a structure
}

// signature is a function type as an ffi_cif describes it.
type signature struct {
	args   []param
	fixed  int // those that are not variadic
	result param
	// wasm is the type of the function. A result in memory is its first
	// parameter, the variadic arguments' address its last.
	wasm wasmbin.FuncType
}

// byAddress is set if the first parameter is the address for the result.
func (s *signature) byAddress() bool {
	return s.result.id == typeStruct || s.result.id == typeLongDouble
}

func (s *signature) variadic() bool { return s.fixed < len(s.args) }

// readSignature reads an ffi_cif.
func readSignature(m hostfn.Mem, cif uint32) (*signature, error) {
	n, ok1 := m.Uint32(cif + 4)
	types, ok2 := m.Uint32(cif + 8)
	result, ok3 := m.Uint32(cif + 12)
	fixed, ok4 := m.Uint32(cif + 24)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, errBadAddress
	}
	if n > maxArgs || fixed > n {
		return nil, fmt.Errorf("%d arguments, at most %d are possible", max(n, fixed), maxArgs)
	}
	s := &signature{fixed: int(fixed)}
	var err error
	if s.result, err = readParam(m, result); err != nil {
		return nil, err
	}
	structs := uint32(0)
	for i := range n {
		t, ok := m.Uint32(types + 4*i)
		if !ok {
			return nil, errBadAddress
		}
		p, err := readParam(m, t)
		if err != nil {
			return nil, err
		}
		switch p.id {
		case typeVoid:
			return nil, errors.New("an argument without a value")
		case typeStruct:
			if structs += p.size; p.size > maxStruct || structs > maxStruct {
				return nil, fmt.Errorf("structures by value of more than %d bytes", maxStruct)
			}
		}
		s.args = append(s.args, p)
	}
	s.lower()
	return s, nil
}

// readParam reads an ffi_type.
func readParam(m hostfn.Mem, t uint32) (param, error) {
	for range maxUnbox {
		size, ok1 := m.Uint32(t)
		kind, ok2 := m.Uint32(t + 4) // alignment and type
		if !ok1 || !ok2 {
			return param{}, errBadAddress
		}
		p := param{id: uint16(kind >> 16), size: size, align: max(1, kind&0xffff)}
		switch {
		case p.id == typeComplex:
			return p, errors.New("complex numbers are not supported")
		case p.id > typeComplex:
			return p, fmt.Errorf("unknown type %d", p.id)
		case p.id != typeStruct:
			return p, nil
		}
		elements, ok := m.Uint32(t + 8)
		first, ok1 := m.Uint32(elements)
		if !ok || !ok1 {
			return p, errBadAddress
		}
		if first == 0 {
			return param{id: typeVoid}, nil
		}
		if second, ok := m.Uint32(elements + 4); !ok {
			return p, errBadAddress
		} else if second != 0 {
			if p.align&(p.align-1) != 0 || p.align > 4096 {
				return p, fmt.Errorf("an alignment of %d bytes", p.align)
			}
			return p, nil
		}
		t = first
	}
	return param{}, errors.New("structures are nested too deep")
}

// lower fills in the function's wasm type.
func (s *signature) lower() {
	t := &s.wasm
	switch s.result.id {
	case typeVoid:
	case typeStruct, typeLongDouble:
		t.Params = append(t.Params, wasmbin.I32)
	default:
		t.Results = []wasmbin.ValType{valType(s.result.id)}
	}
	for _, a := range s.args[:s.fixed] {
		if a.id == typeLongDouble {
			t.Params = append(t.Params, wasmbin.I64)
		}
		t.Params = append(t.Params, valType(a.id))
	}
	if s.variadic() {
		t.Params = append(t.Params, wasmbin.I32)
	}
}

// valType returns what a type is passed as; half of a long double.
func valType(id uint16) wasmbin.ValType {
	switch id {
	case typeFloat:
		return wasmbin.F32
	case typeDouble:
		return wasmbin.F64
	case typeUint64, typeSint64, typeLongDouble:
		return wasmbin.I64
	}
	return wasmbin.I32
}
