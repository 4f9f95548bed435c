package cbor

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"
)

type inner struct{ Stats int }

type sample struct {
	inner
	Name   string
	Bytes  []byte
	List   []uint32
	Table  map[string]uint32
	Parts  []struct{ Stub, Code []byte }
	Apart  bool
	Clock  time.Duration
	hidden int
}

// TestRoundTrip has what files of ours have: lists beyond the default limits of the library,
// names that are not UTF-8, and what is nil beside what is empty.
func TestRoundTrip(t *testing.T) {
	want := sample{Name: "\xff", Bytes: []byte{}, List: make([]uint32, 200_000), Table: map[string]uint32{"\xfe": 1},
		Parts: make([]struct{ Stub, Code []byte }, 2), Apart: true, Clock: -1, hidden: 1}
	want.List[199_999], want.Parts[1].Code = ^uint32(0), []byte("code")
	var b bytes.Buffer
	if err := Write(&b, want); err != nil {
		t.Fatal(err)
	}
	var got sample
	if err := Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(append(bytes.Clone(b.Bytes()), 0), new(sample)); err == nil {
		t.Error("what is behind the value is not an error")
	}
	clear(b.Bytes()) // nothing aliases it
	if got.Name != want.Name || got.Bytes == nil || !slices.Equal(got.List, want.List) || !maps.Equal(got.Table, want.Table) ||
		got.Parts[0].Code != nil || string(got.Parts[1].Code) != "code" || !got.Apart || got.Clock != -1 || got.hidden != 0 {
		t.Errorf("%+v", got)
	}
}

// TestClaims has lengths of which the bytes are missing, and more levels than any type has.
func TestClaims(t *testing.T) {
	field := func(name string, rest ...byte) []byte {
		return append(append([]byte{0xa1, 0x60 + byte(len(name))}, name...), rest...)
	}
	for _, b := range [][]byte{
		nil,
		field("Bytes", 0x5b, 0, 0, 0, 0x10, 0, 0, 0, 0),
		field("List", 0x9a, 0x7f, 0xff, 0xff, 0xff),
		field("List", 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		field("Table", 0xba, 0x7f, 0xff, 0xff, 0xff),
		field("List", 0x9f, 0xff), // of any length
		field("Parts", bytes.Repeat([]byte{0x81}, 1<<20)...),
		field("Clock", 0xc0, 0x60), // a tag
		field("Apart", 0x18),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var s sample
		err := Unmarshal(b, &s)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 1<<20 {
			t.Errorf("%.12x: %v, with %d bytes", b, err, grown)
		}
	}
}

// FuzzUnmarshal wants no panic, and what is decoded to be encoded again.
func FuzzUnmarshal(f *testing.F) {
	b, err := Marshal(sample{Name: "name", List: []uint32{1, 1 << 20}, Table: map[string]uint32{"a": 1}, Clock: time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for n := range b {
		f.Add(b[:n])
		f.Add(append(append(bytes.Clone(b[:n]), b[n]^0x3f), b[n+1:]...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s sample
		if Unmarshal(b, &s) != nil {
			return
		}
		if _, err := Marshal(s); err != nil {
			t.Error(err)
		}
	})
}
