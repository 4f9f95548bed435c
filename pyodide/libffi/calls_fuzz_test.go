package libffi

import (
	"context"
	"errors"
	"testing"

	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/wasmbin"
)

// TestClosuresAreBounded: a guest that allocates closures and never prepares
// them cannot have any number of the host's table entries; one that gives a
// bad address leaves nothing.
func TestClosuresAreBounded(t *testing.T) {
	w := newWorld(t)
	p := w.alloc(make([]byte, 16))
	w.c.Malloc = func(context.Context, uint32) (uint32, error) { return p, nil }
	if _, err := w.Alloc(w.ctx, 16, 0xfffffffe); !errors.Is(err, errBadAddress) {
		t.Errorf("a closure whose slot cannot be told: %v", err)
	}
	if len(w.freed) != 1 || len(w.taken) != 0 {
		t.Errorf("%d slots freed, %d taken after that", len(w.freed), len(w.taken))
	}
	made := 0
	for range maxClosures + 10 {
		q, err := w.Alloc(w.ctx, 16, p)
		if err != nil {
			t.Fatal(err)
		}
		if q != 0 {
			made++
		}
	}
	if made != maxClosures {
		t.Errorf("%d closures were allocated, want %d", made, maxClosures)
	}
}

// FuzzFFI makes sequences of what a guest can ask of libffi, with whatever is
// in its memory.
func FuzzFFI(f *testing.F) {
	cif := append(words(0, 1, 32, 28, 0, 0, 1, 4, 36, 4|typeSint32<<16, 0), make([]byte, 20)...)
	f.Add(cif, []byte{0, 0, 1, 0, 2, 0, 3, 1})
	f.Add(append(words(0, 2, 40, 28, 0, 0, 1, 4, 4|typeStruct<<16, 44, 28, 28, 28, 28), 1, 2, 3), []byte{0, 1, 3, 3, 2, 2, 0})
	f.Fuzz(func(t *testing.T, memory, ops []byte) {
		w := newWorld(t)
		w.handled = func(_, result, _, _ uint32) { w.c.Mem.PutUint32(result, 7) }
		w.c.Malloc = func(_ context.Context, n uint32) (uint32, error) {
			if uint64(w.heap)+uint64(n) > stackTop/2 {
				return 0, nil
			}
			return w.alloc(make([]byte, n)), nil
		}
		w.c.Mem.Put(0, memory[:min(len(memory), 1000)])
		at := func(b byte) uint32 {
			switch {
			case b >= 250:
				return -uint32(b - 249)
			case b >= 240:
				return wazeroPage - uint32(b-240)*4
			}
			return uint32(b) * 4
		}
		closures := []uint32{0}
		for len(ops) >= 4 && len(closures) < 20 {
			a, b, c := at(ops[1]), at(ops[2]), at(ops[3])
			p := closures[int(ops[1])%len(closures)]
			slot, _ := w.c.Mem.Uint32(p)
			var err error
			switch ops[0] % 5 {
			case 0:
				var p uint32
				if p, err = w.Alloc(w.ctx, a, b); p != 0 {
					closures = append(closures, p)
				}
			case 1:
				_, err = w.Prepare(w.ctx, p, b, handler, c, slot)
			case 2:
				err = w.Release(w.ctx, p)
			case 3:
				err = w.Call(w.ctx, b, slot, c, a)
			case 4:
				w.types[a] = wasmbin.FuncType{}
				err = w.Call(w.ctx, b, a, c, a)
			}
			if hostfn.Trapped(err) {
				return // the guest is unwound
			}
			ops = ops[4:]
		}
	})
}

const wazeroPage = 1 << 16
