package dylink

import (
	"strings"
	"testing"

	"coderunner/pyodide/wasmbin"
)

func TestLoad(t *testing.T) {
	w := newWorld(t)
	lib := side{memory: 100, memoryAlign: 6, table: 3, tableAlign: 4}
	lib.calls("chain", "slotted", "plain", "host_add")
	lib.Export("value", wasmbin.KindGlobal, lib.GlobalI32(false, 8))
	w.files["/lib/a.so"] = lib.bytes()
	h := w.mustOpen("/lib/a.so", 0)

	if got := w.run(w.sym(h, "chain"), 5); got != 5+1+2+1000 {
		t.Errorf("chain(5) = %d, want 1008", got)
	}
	base, _ := w.c.Mem.Uint32(h + dsoMemAddr)
	if got := w.sym(h, "value"); got != base+8 || base%64 != 0 {
		t.Errorf("value is at %#x, the library's memory at %#x", got, base)
	}
	if slot, _ := w.c.Mem.Uint32(h + dsoTableAddr); slot%16 != 0 {
		t.Errorf("the library's slots begin at %d, want a multiple of 16", slot)
	}
	if a, b := w.sym(h, "chain"), w.sym(h, "chain"); a != b {
		t.Errorf("two addresses of one function: %d and %d", a, b)
	}
	if again := w.mustOpen("/lib/./a.so", 0); w.handles[again] != w.handles[h] {
		t.Error("one file was loaded twice")
	}
	if got := w.sym(0, "slotted"); got != 1 {
		t.Errorf("slotted is in slot %d, want its own, 1", got)
	}
	if ty, ok := w.TypeAt(w.sym(h, "chain")); !ok || !ty.Equal(i32Func(1, 1)) {
		t.Errorf("type of chain = %v, %v", ty, ok)
	}
	if table, n := w.arity(); n <= w.sym(h, "chain") {
		t.Errorf("the arity table ends at %d", n)
	} else if b, _ := w.c.Mem.Bytes(table+w.sym(h, "chain"), 1); b[0] != 1 {
		t.Errorf("arity of chain = %d, want 1", b[0])
	}
}

// TestUnknownNames wants host functions not to be found, and all else that is
// not there.
func TestUnknownNames(t *testing.T) {
	w := newWorld(t)
	lib := side{}
	lib.adds("own", 1)
	w.files["/lib/a.so"] = lib.bytes()
	h := w.mustOpen("/lib/a.so", 0)
	for _, c := range []struct {
		handle uint32
		name   string
	}{{0, "host_add"}, {0, "own"}, {0, "grow_"}, {h, "plain"}, {h, "host_add"}, {9999, "plain"}, {h, "memory"}, {0, memoryName}} {
		w.c.Mem.PutCString(512, 256, c.name)
		if v, err := w.Dlsym(w.ctx, c.handle, 512); err == nil {
			t.Errorf("dlsym(%d, %s) = %d, want an error", c.handle, c.name, v)
		}
	}
	if _, err := w.Dlsym(w.ctx, h, 1<<31); err == nil {
		t.Error("dlsym of a name outside of memory succeeded")
	}
	if err := w.Dlopen(w.ctx, 1<<31); err == nil {
		t.Error("dlopen of a handle outside of memory succeeded")
	}
}

func TestScopes(t *testing.T) {
	w := newWorld(t)
	for name, n := range map[string]int32{"local": 10, "global": 20} {
		lib := side{}
		lib.adds(name, n)
		w.files["/lib/"+name+".so"] = lib.bytes()
	}
	user := side{}
	user.calls("use", "local")
	w.files["/lib/uselocal.so"] = user.bytes()
	user = side{}
	user.calls("use", "global")
	w.files["/lib/useglobal.so"] = user.bytes()

	w.mustOpen("/lib/local.so", 0)
	w.mustOpen("/lib/global.so", rtldGlobal)
	if _, err := w.dlopen("/lib/uselocal.so", 0); err == nil || !strings.Contains(err.Error(), "undefined symbol local") {
		t.Errorf("a symbol of a local library was seen: %v", err)
	}
	if got := w.run(w.sym(w.mustOpen("/lib/useglobal.so", 0), "use"), 1); got != 21 {
		t.Errorf("use(1) = %d, want 21", got)
	}
	if got := w.run(w.sym(0, "global"), 2); got != 22 {
		t.Errorf("global(2) = %d, want 22", got)
	}
	w.mustOpen("/lib/local.so", rtldGlobal) // opened again, it becomes global
	if got := w.run(w.sym(w.mustOpen("/lib/uselocal.so", 0), "use"), 1); got != 11 {
		t.Errorf("use(1) = %d, want 11", got)
	}
}

func TestNeeded(t *testing.T) {
	w := newWorld(t)
	dep := side{}
	dep.calls("dep", "root_fn") // a cycle: the root's function, by its slot
	dep.needed = []string{"root.so"}
	dep.runtimePath = []string{"$ORIGIN/.."}
	w.files["/lib/x/libs/dep.so"] = dep.bytes()
	std := side{}
	std.adds("std", 100)
	w.files["/usr/lib/std.so"] = std.bytes()
	root := side{needed: []string{"dep.so", "std.so"}, runtimePath: []string{"${ORIGIN}/libs"}}
	root.calls("root", "dep", "std")
	root.adds("root_fn", 7)
	w.files["/lib/x/root.so"] = root.bytes()
	if got := w.run(w.sym(w.mustOpen("/lib/x/root.so", 0), "root"), 1); got != 108 {
		t.Errorf("root(1) = %d, want 108", got)
	}
	if len(w.order) != 3 {
		t.Errorf("%d libraries were loaded, want 3", len(w.order))
	}
}

// TestOwnDefinition is what C++ does: a weak function is imported, so that
// somebody else's may be used, and defined in case there is none.
func TestOwnDefinition(t *testing.T) {
	w := newWorld(t)
	lib := side{weak: []string{"nobody", "nothing"}, memory: 32}
	lib.ImportFunc(envModule, "nobody", i32Func(1, 1))
	lib.calls("use", "own")
	lib.adds("own", 5)
	lib.reads("nothing", "datum", "mine")
	lib.Export("mine", wasmbin.KindGlobal, lib.GlobalI32(false, 4))
	w.files["/lib/a.so"] = lib.bytes()
	h := w.mustOpen("/lib/a.so", 0)
	if got := w.run(w.sym(h, "use"), 1); got != 6 {
		t.Errorf("use(1) = %d, want 6", got)
	}
	for name, want := range map[string]uint32{"nothing": 0, "datum": 64, "mine": w.sym(h, "mine")} {
		if got := w.run(w.sym(h, "get_"+name), 0); got != want {
			t.Errorf("GOT entry of %s = %#x, want %#x", name, got, want)
		}
	}
}

// TestIdentity wants one address for a function, whoever asks.
func TestIdentity(t *testing.T) {
	w := newWorld(t)
	def := side{table: 1}
	def.reads("plain", "slotted", "shared", "host_add")
	def.adds("shared", 9)
	w.files["/lib/def.so"] = def.bytes()
	user := side{}
	user.reads("plain", "slotted", "shared", "host_add")
	w.files["/lib/user.so"] = user.bytes()
	d := w.mustOpen("/lib/def.so", 0)
	u := w.mustOpen("/lib/user.so", 0)
	for _, name := range []string{"plain", "slotted", "shared", "host_add"} {
		a, b := w.run(w.sym(d, "get_"+name), 0), w.run(w.sym(u, "get_"+name), 0)
		if a != b || a == 0 {
			t.Errorf("addresses of %s: %d and %d", name, a, b)
		}
		if name == "shared" && a != w.sym(d, name) {
			t.Errorf("address of shared: %d, dlsym gives %d", a, w.sym(d, name))
		}
	}
	if got := w.run(w.run(w.sym(u, "get_host_add"), 0), 1); got != 1001 {
		t.Errorf("host_add(1) by its slot = %d, want 1001", got)
	}
}
