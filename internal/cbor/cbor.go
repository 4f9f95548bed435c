// Package cbor encodes Go values for files that a later process reads, as CBOR (RFC 8949).
//
// See "Why are heads of files CBOR?" in pyodide's RATIONALE.md. The encoding has no version:
// whoever keeps a file changes its key with the type. Messages between processes are JSON.
//
// # Limits
//
// Files may be damaged or forged. Decoding them returns an error, never panics, and takes memory
// in proportion to their size: the library checks all lengths against the bytes that are left
// before it allocates. Strings need not be UTF-8, as names of files need not.
package cbor

import (
	"io"
	"math"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

var decoding = sync.OnceValues(func() (cbor.DecMode, error) {
	return cbor.DecOptions{
		MaxArrayElements:  math.MaxInt32, // by default 128 Ki, less than lists of ours have
		MaxMapPairs:       math.MaxInt32,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		UTF8:              cbor.UTF8DecodeInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	}.DecMode()
})

// Marshal returns the encoding of v. Nil slices and maps stay nil.
func Marshal(v any) ([]byte, error) { return cbor.Marshal(v) }

// Write writes the encoding of v.
func Write(w io.Writer, v any) error {
	b, err := Marshal(v)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// Unmarshal decodes all of b into v, a pointer to a zero value. Nothing aliases b.
func Unmarshal(b []byte, v any) error {
	mode, err := decoding()
	if err != nil {
		return err
	}
	return mode.Unmarshal(b, v)
}

// UnmarshalFirst decodes the first of a sequence of values, and returns the others.
func UnmarshalFirst(b []byte, v any) (rest []byte, err error) {
	mode, err := decoding()
	if err != nil {
		return nil, err
	}
	return mode.UnmarshalFirst(b, v)
}
