package wasmbin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outside is what Stub leaves as it is.
func outside(m *Module) map[string]any {
	return map[string]any{
		"types": m.Types, "imports": m.Imports, "funcs": m.Funcs, "tables": m.Tables, "memories": m.Memories,
		"globals": m.Globals, "tags": m.Tags, "exports": m.Exports, "start": m.Start, "elements": m.Elements,
		"count": m.DataCount, "bodies": len(m.Bodies), "dylink": m.Dylink, "data": len(m.Data),
	}
}

func TestStub(t *testing.T) {
	m := parsed(t, "all.wasm")
	h, err := Parse(m.Stub(func(d Data) bool { return d.Mode == Active }))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(outside(m), outside(h)); d != "" {
		t.Errorf("(-module +stub):\n%s", d)
	}
	for i, b := range h.Bodies {
		if code := h.Bytes[b.Start:b.End]; string(code) != "\x00\x00\x0b" {
			t.Errorf("body %d is %x", i, code)
		}
	}
	for i, d := range h.Data {
		want := m.Data[i]
		if d.Mode == Active {
			want.Bytes = []byte{}
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("data %d (-want +got):\n%s", i, diff)
		}
	}
	if h, err = Parse(m.Stub(nil)); err != nil || cmp.Diff(m.Data, h.Data) != "" {
		t.Errorf("with its data: %v, %v", h.Data, err)
	}
	for _, s := range h.Sections {
		if s.ID == SecCustom && s.Name != "dylink.0" {
			t.Errorf("it has the section %q", s.Name)
		}
	}
}

// FuzzStub wants of whatever can be parsed a stub module that can, too, and
// is the same from outside.
func FuzzStub(f *testing.F) {
	addModules(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		h, err := Parse(m.Stub(func(Data) bool { return true }))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(outside(m), outside(h)); d != "" {
			t.Errorf("(-module +stub):\n%s", d)
		}
	})
}
