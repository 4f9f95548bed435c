package gofunc

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// read reads a text, which may be empty.
func read(text json.RawMessage, to any) error {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return classed{"TypeError", "a call that cannot be read: " + err.Error()}
	}
	return nil
}

// decode stores a value of Python. The error is a [Raiser].
func decode(src any, dst reflect.Value) error {
	t := dst.Type()
	switch {
	case t.Kind() == reflect.Interface:
		v, err := natural(src)
		if err == nil && v != nil {
			dst.Set(reflect.ValueOf(v))
		}
		return err
	case t.Kind() == reflect.Pointer:
		if src == nil {
			return nil
		}
		dst.Set(reflect.New(t.Elem()))
		return decode(src, dst.Elem())
	case t == bigType:
		if n, ok := integer(src); ok {
			dst.Set(reflect.ValueOf(*n))
			return nil
		}
		return mismatch(src, t)
	case reflect.PointerTo(t).Implements(readType):
		text, ok := src.(string)
		if !ok {
			return mismatch(src, t)
		}
		if err := dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return classed{"ValueError", err.Error()}
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Bool:
		if b, ok := src.(bool); ok {
			dst.SetBool(b)
			return nil
		}
	case reflect.String:
		if s, ok := src.(string); ok {
			dst.SetString(s)
			return nil
		}
	case reflect.Float32, reflect.Float64:
		if f, ok := float(src); ok {
			dst.SetFloat(f)
			return nil
		}
	case reflect.Slice, reflect.Array:
		return decodeList(src, dst)
	case reflect.Map:
		return decodeMap(src, dst)
	case reflect.Struct:
		return decodeStruct(src, dst)
	default:
		return decodeInteger(src, dst)
	}
	return mismatch(src, t)
}

func decodeInteger(src any, dst reflect.Value) error {
	n, ok := integer(src)
	switch {
	case !ok:
		return mismatch(src, dst.Type())
	case dst.CanInt() && n.IsInt64() && !dst.OverflowInt(n.Int64()):
		dst.SetInt(n.Int64())
	case dst.CanUint() && n.IsUint64() && !dst.OverflowUint(n.Uint64()):
		dst.SetUint(n.Uint64())
	default:
		return classed{"OverflowError", fmt.Sprintf("an int that does not fit %v", dst.Type())}
	}
	return nil
}

func decodeList(src any, dst reflect.Value) error {
	t := dst.Type()
	if data, ok := octets(src); ok && t.Elem().Kind() == reflect.Uint8 {
		if t.Kind() == reflect.Slice {
			dst.SetBytes(data)
		} else if copy(dst.Slice(0, t.Len()).Bytes(), data) != t.Len() || len(data) != t.Len() {
			return classed{"ValueError", fmt.Sprintf("%d bytes, want %d", len(data), t.Len())}
		}
		return nil
	}
	list, ok := src.([]any)
	if !ok || t.Elem().Kind() == reflect.Uint8 {
		return mismatch(src, t)
	}
	if t.Kind() == reflect.Slice {
		dst.Set(reflect.MakeSlice(t, len(list), len(list)))
	} else if len(list) != t.Len() {
		return classed{"ValueError", fmt.Sprintf("%d elements, want %d", len(list), t.Len())}
	}
	for i, e := range list {
		if err := decode(e, dst.Index(i)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func decodeMap(src any, dst reflect.Value) error {
	pairs, ok := dict(src)
	if !ok {
		return mismatch(src, dst.Type())
	}
	dst.Set(reflect.MakeMapWithSize(dst.Type(), len(pairs)))
	for _, p := range pairs {
		key, value := reflect.New(dst.Type().Key()).Elem(), reflect.New(dst.Type().Elem()).Elem()
		if err := decode(p[0], key); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		if err := decode(p[1], value); err != nil {
			return fmt.Errorf("the value of %v: %w", p[0], err)
		}
		if !key.Comparable() {
			return classed{"TypeError", "a key that Go cannot compare"}
		}
		dst.SetMapIndex(key, value)
	}
	return nil
}

func decodeStruct(src any, dst reflect.Value) error {
	pairs, ok := dict(src)
	if !ok {
		return mismatch(src, dst.Type())
	}
	known := fields(dst.Type())
	for _, p := range pairs {
		i := slices.IndexFunc(known, func(f field) bool { return f.name == p[0] })
		if i < 0 {
			return classed{"TypeError", fmt.Sprintf("%v has no field %v", dst.Type(), p[0])}
		}
		if err := decode(p[1], dst.FieldByIndex(known[i].index)); err != nil {
			return fmt.Errorf("%s: %w", known[i].name, err)
		}
	}
	return nil
}

// natural returns the Go value that is most like a value of Python: nil, bool, int64 or
// *big.Int, float64, string, []byte, []any, map[string]any or map[any]any.
func natural(src any) (any, error) {
	if n, ok := integer(src); ok {
		if n.IsInt64() {
			return n.Int64(), nil
		}
		return n, nil
	}
	if f, ok := float(src); ok {
		return f, nil
	}
	if data, ok := octets(src); ok {
		return data, nil
	}
	if _, ok := src.([]any); ok {
		return naturally[[]any](src)
	}
	pairs, ok := dict(src)
	switch {
	case !ok:
		return src, nil // nil, bool or string
	case slices.ContainsFunc(pairs, func(p [2]any) bool { _, text := p[0].(string); return !text }):
		return naturally[map[any]any](src)
	}
	return naturally[map[string]any](src)
}

func naturally[T any](src any) (any, error) {
	var out T
	err := decode(src, reflect.ValueOf(&out).Elem())
	return out, err
}

// integer returns an int.
func integer(src any) (*big.Int, bool) {
	if n, ok := src.(json.Number); ok && !strings.ContainsAny(n.String(), ".eE") {
		return new(big.Int).SetString(n.String(), 10)
	}
	return nil, false
}

// float returns a float, or an int as one.
func float(src any) (float64, bool) {
	text, ok := "", false
	if n, isNumber := src.(json.Number); isNumber {
		text, ok = n.String(), true
	} else if o, isObject := src.(map[string]any); isObject {
		text, ok = o["f"].(string)
	}
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// octets returns bytes.
func octets(src any) ([]byte, bool) {
	o, _ := src.(map[string]any)
	text, ok := o["b"].(string)
	if !ok {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return data, err == nil
}

// dict returns the pairs of a dict.
func dict(src any) (pairs [][2]any, ok bool) {
	o, _ := src.(map[string]any)
	list, ok := o["m"].([]any)
	if !ok {
		return nil, false
	}
	for _, e := range list {
		p, _ := e.([]any)
		if len(p) != 2 {
			return nil, false
		}
		pairs = append(pairs, [2]any{p[0], p[1]})
	}
	return pairs, true
}

// mismatch is the error for a value of another type than a parameter's.
func mismatch(src any, want reflect.Type) error {
	is := "a value that cannot be read"
	switch v := src.(type) {
	case nil:
		is = "None"
	case bool:
		is = "a bool"
	case string:
		is = "a str"
	case []any:
		is = "a list"
	case json.Number:
		if is = "a float"; !strings.ContainsAny(v.String(), ".eE") {
			is = "an int"
		}
	case map[string]any:
		for tag := range v {
			is = map[string]string{"b": "bytes", "f": "a float", "m": "a dict"}[tag]
		}
	}
	return classed{"TypeError", fmt.Sprintf("%s, want %v", is, want)}
}
