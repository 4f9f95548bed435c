//go:build amd64

package relayout

import (
	"fmt"
	"slices"
	"testing"
)

// Validate lays out a file of wazero's, and compares each function with the old one.
// It returns how many functions and exits there are.
func Validate(t *testing.T, name string, file []byte, shapes []Shape) (functions, exits int) {
	t.Helper()
	_, code, offsets := parts(t, file)
	if len(offsets) == 0 {
		return 0, 0
	}
	m := newModule(code, offsets, nil, shapes)
	err := m.each(func(f *function, n int) error { return m.findEntry(f, n) })
	if err == nil {
		err = m.each(func(f *function, n int) error {
			if err := m.layFunction(f, n); err != nil || m.stats[n].Kept > 0 {
				return fmt.Errorf("function %d is kept: %w", n, err)
			}
			begin, end := m.bounds(n)
			if err := validate(f, code, begin, end, m.entry); err != nil {
				return fmt.Errorf("function %d: %w", n, err)
			}
			return nil
		})
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, s := range m.stats {
		exits += s.Exits
	}
	return len(offsets), exits
}

// Compiled is the file that wazero writes for a module.
var Compiled = compiled

// TestValidator changes each byte of the new code: the validator must find it, but in
// padding and where the module's own distances are filled in later.
func TestValidator(t *testing.T) {
	tried, m := flip(t, wasm(), 8)
	if tried < 1000 || m.stats[2].Conditions < 3 {
		t.Errorf("%d changes, %d conditions", tried, m.stats[2].Conditions)
	}
	flip(t, operandsModule(), 1)
}

// flip lays out a module and changes bits of each byte of its new code.
func flip(t *testing.T, wasm []byte, bits int) (tried int, m *module) {
	_, code, offsets := parts(t, compiled(t, wasm))
	m = newModule(code, offsets, nil, nil)
	if err := m.each(m.findEntry); err != nil {
		t.Fatal(err)
	}
	var f function
	for n := range offsets {
		begin, end := m.bounds(n)
		if err := m.layFunction(&f, n); err != nil {
			t.Fatal(err)
		}
		if err := validate(&f, code, begin, end, m.entry); err != nil {
			t.Fatal(err)
		}
		for k, b := range f.laid.code {
			filled := func(x fixup) bool { return int(x.at) <= k && k < int(x.at)+4 }
			if slices.ContainsFunc(f.laid.calls, filled) || slices.ContainsFunc(f.laid.exits, filled) {
				continue
			}
			for bit := range bits {
				tried++
				bit = (bit + k) % 8
				f.laid.code[k] = b ^ 1<<bit
				if err := tryValidate(&f, code, begin, end, m.entry); err == nil && !isPadding(&f, k) {
					t.Errorf("function %d, byte %d: % x to %x is not found", n, k, b, f.laid.code[k])
				}
			}
			f.laid.code[k] = b
		}
	}
	return tried, m
}

// tryValidate is validate for code that need not be any.
func tryValidate(f *function, code []byte, begin, end int32, entry entries) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return validate(f, code, begin, end, entry)
}

// isPadding reports whether a byte is in the zeros before a table or constants.
func isPadding(f *function, k int) bool {
	defer func(code []byte) { f.laid.code = code }(f.laid.code)
	f.laid.code = nil // place writes to it
	_, stubs := f.place()
	end := stubs[len(f.stubs)] + int32(len(appendGrowth(nil, f.frame))) + 5
	tables, constants := f.dataAt(end)
	first := constants
	if len(tables) > 0 {
		first = tables[0]
	}
	return int32(k) >= end && int32(k) < first
}
