package gofunc

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coderunner/internal/order"
)

// tagged is an object of the texts: see the package comment.
type tagged map[string]any

var (
	bigType  = reflect.TypeFor[big.Int]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	readType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText reports whether values of a type are texts to Python: a time.Time, a netip.Addr.
func isText(t reflect.Type) bool {
	return t != bigType && (t.Implements(textType) || reflect.PointerTo(t).Implements(readType))
}

// crosses returns an error for a type that no value of Python has.
func crosses(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] || t == bigType || isText(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return crosses(t.Elem(), seen)
	case reflect.Map:
		return errors.Join(crosses(t.Key(), seen), crosses(t.Elem(), seen))
	case reflect.Struct:
		for _, f := range fields(t) {
			if err := crosses(t.FieldByIndex(f.index).Type, seen); err != nil {
				return fmt.Errorf("field %s: %w", f.name, err)
			}
		}
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("Python has no values of type %v", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return fmt.Errorf("Python has no values of type %v", t)
	}
	return nil
}

// field is a field of a struct by its name in Python.
type field struct {
	name  string
	index []int
}

// fields returns the exported fields, those of embedded structs too. Their names are those
// that encoding/json has for them.
func fields(t reflect.Type) (list []field) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && !isText(f.Type):
			for _, inner := range fields(f.Type) {
				list = append(list, field{inner.name, append(slices.Clone(f.Index), inner.index...)})
			}
		case f.IsExported() && name == "":
			list = append(list, field{f.Name, f.Index})
		case f.IsExported():
			list = append(list, field{name, f.Index})
		}
	}
	return list
}

// maxDepth bounds the nesting of results: pointers may go in a circle.
const maxDepth = 200

// encode returns what is marshalled for a value.
func encode(v reflect.Value, depth int) (any, error) {
	if depth++; depth > maxDepth {
		return nil, classed{"RecursionError", fmt.Sprintf("more than %d levels, or a circle", maxDepth)}
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}
	if v.Type() == bigType {
		n := v.Interface().(big.Int)
		return json.Number(n.String()), nil
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok && v.Type() != reflect.PointerTo(bigType) {
		text, err := m.MarshalText()
		return string(text), err
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float32, reflect.Float64:
		return encodeFloat(v.Float(), v.Type().Bits()), nil
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return nil, errors.New("a string that is not UTF-8: []byte takes it")
		}
		return v.String(), nil
	case reflect.Pointer:
		return encode(v.Elem(), depth)
	case reflect.Slice, reflect.Array:
		return encodeList(v, depth)
	case reflect.Map:
		return encodeMap(v, depth)
	case reflect.Struct:
		return encodeStruct(v, depth)
	}
	return nil, fmt.Errorf("Python has no values of type %v", v.Type())
}

func encodeFloat(f float64, bits int) any {
	text := strconv.FormatFloat(f, 'g', -1, bits)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return tagged{"f": strings.ToLower(strings.TrimPrefix(text, "+"))}
	case !strings.ContainsAny(text, ".e"):
		text += ".0"
	}
	return json.RawMessage(text)
}

func encodeList(v reflect.Value, depth int) (_ any, err error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Kind() == reflect.Array {
			array := reflect.New(v.Type()).Elem()
			array.Set(v)
			v = array.Slice(0, v.Len())
		}
		return tagged{"b": append([]byte{}, v.Bytes()...)}, nil
	}
	list := make([]any, v.Len())
	for i := range list {
		if list[i], err = encode(v.Index(i), depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// encodeMap returns the pairs in the order of their keys' texts.
func encodeMap(v reflect.Value, depth int) (any, error) {
	list := make([][2]any, 0, v.Len())
	for key, value := range v.Seq2() {
		k, err := encode(key, depth)
		if err != nil {
			return nil, err
		}
		e, err := encode(value, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, [2]any{k, e})
	}
	order.By(list, func(a, b [2]any) int { return strings.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	return tagged{"m": list}, nil
}

func encodeStruct(v reflect.Value, depth int) (any, error) {
	list := []any{}
	for _, f := range fields(v.Type()) {
		e, err := encode(v.FieldByIndex(f.index), depth)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		list = append(list, []any{f.name, e})
	}
	return tagged{"s": list}, nil
}
