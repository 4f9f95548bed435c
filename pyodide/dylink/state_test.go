package dylink

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"coderunner/pyodide/wasmbin"
)

// TestRestore makes another linker of one's state, as a snapshot does.
func TestRestore(t *testing.T) {
	w := newWorld(t)
	dep := side{memory: 32, table: 2}
	dep.ImportTable(envModule, tableName, wasmbin.Table{Type: wasmbin.FuncRef})
	dep.ImportGlobal(envModule, "__table_base", wasmbin.I32, false)
	dep.adds("dep", 5)
	counter := dep.GlobalI32(true, 0)
	dep.Export("counter", wasmbin.KindGlobal, counter)
	dep.Export("count", wasmbin.KindFunc, dep.Func(i32Func(1, 1), nil, []byte{
		wasmbin.OpGlobalGet, byte(counter), wasmbin.OpI32Const, 1, wasmbin.OpI32Add, wasmbin.OpGlobalSet, byte(counter), wasmbin.OpGlobalGet, byte(counter)}))
	root := side{memory: 32, needed: []string{"/lib/dep.so"}}
	root.calls("root", "dep", "plain")
	root.reads("dep", "plain")
	w.files["/lib/dep.so"], w.files["/lib/root.so"] = dep.bytes(), root.bytes()
	late := side{}
	late.calls("late", "root")
	w.files["/lib/late.so"] = late.bytes()
	h := w.mustOpen("/lib/root.so", rtldGlobal)
	d := w.mustOpen("/lib/dep.so", 0)
	for range 3 {
		w.run(w.sym(d, "count"), 0)
	}
	root1, plain, added := w.sym(h, "root"), w.run(w.sym(h, "get_plain"), 0), w.sym(0, "plain")

	state, err := w.State()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	n := newWorld(t)
	n.files, n.heap = w.files, w.heap
	size, _ := w.call(w.ctx, "grow", 0)
	if _, err := n.call(n.ctx, "grow", size-4); err != nil {
		t.Fatal(err)
	}
	again := new(State)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context, ls LibraryState) (*Library, error) { return n.open(ctx, ls.Digest) }
	if err := n.Restore(n.ctx, again, open); err != nil {
		t.Fatal(err)
	}
	memory, _ := w.c.Mem.Bytes(0, w.c.Mem.Size())
	n.c.Mem.Put(0, memory)
	for _, name := range []string{"arity_table", "arity_len"} {
		v := w.c.Instance.ExportedGlobal(name).Get()
		n.c.Instance.ExportedGlobal(name).(interface{ Set(uint64) }).Set(v)
	}

	if a, b := w.state(), n.state(); a[strings.Index(a, "slots"):] != b[strings.Index(b, "slots"):] {
		t.Errorf("state\n%s\nwas restored as\n%s", a, b)
	}
	if got := n.sym(h, "root"); got != root1 || n.run(got, 1) != 1+5+2 {
		t.Errorf("root is in slot %d, was in %d; root(1) = %d, want 8", got, root1, n.run(got, 1))
	}
	if got := n.run(n.sym(h, "get_plain"), 0); got != plain || n.sym(0, "plain") != added || n.run(got, 1) != 3 {
		t.Errorf("the address of plain is %d, was %d", got, plain)
	}
	if got := n.run(n.sym(d, "count"), 0); got != 4 {
		t.Errorf("count() = %d, want 4: the library's variables go on", got)
	}
	if got := n.run(n.sym(n.mustOpen("/lib/late.so", 0), "late"), 1); got != 8 {
		t.Errorf("late(1) = %d, want 8", got)
	}
	if err := n.Reset(again); err == nil {
		t.Error("a state with fewer libraries is taken")
	}
	m := newWorld(t)
	m.files, m.heap = w.files, w.heap
	if _, err := m.call(m.ctx, "grow", size-4); err != nil {
		t.Fatal(err)
	}
	if err := m.Restore(m.ctx, again, func(ctx context.Context, ls LibraryState) (*Library, error) { return m.open(ctx, ls.Digest) }); err != nil {
		t.Fatal(err)
	}
	m.c.Mem.Put(0, memory)
	count := m.sym(d, "count")
	m.run(m.sym(d, "dep"), 0) // of the same type: what calls it is made
	changes := m.Changes()
	for range 2 {
		if got := m.run(count, 0); got != 4 {
			t.Errorf("count() = %d, want 4", got)
		}
		if err := m.Reset(again); err != nil || m.Changes() != changes {
			t.Errorf("Reset: %v, with %d changes", err, m.Changes()-changes)
		}
	}
	m.mustOpen("/lib/late.so", 0)
	if m.Changes() == changes {
		t.Error("a library was loaded, but nothing has changed")
	}
	for _, damaged := range []string{`{"Handles":{"8":5}}`, `{"Global":{"a":3}}`, `{"Global":{"a":-1}}`, `{"Filled":[{"Owner":7}]}`, `{"Filled":[{"Owner":-2,"Export":"x"}]}`,
		`{"Libraries":[{"Digest":"/lib/dep.so","Env":""}]}`, `{"Libraries":[{"Digest":"/lib/nothing.so"}]}`} {
		s := new(State)
		if err := json.Unmarshal([]byte(damaged), s); err != nil {
			t.Fatal(err)
		}
		n := newWorld(t)
		n.files = w.files
		if err := n.Restore(n.ctx, s, open); err == nil {
			t.Errorf("Restore(%s) succeeded", damaged)
		}
	}
}
