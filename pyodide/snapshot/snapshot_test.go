package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// write writes a snapshot of memory into a new file.
func write(t testing.TB, memory []byte, s State) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(f, memory, s); err != nil {
		t.Fatal(err)
	}
	return path
}

func sample() []byte {
	memory := make([]byte, 100*page)
	memory[0] = 1
	memory[10*page] = 2   // near the first
	memory[60*page+5] = 3 // far
	memory[100*page-1] = 4
	return memory
}

func TestRoundTrip(t *testing.T) {
	memory := sample()
	image, err := Open(write(t, memory, State{Globals: map[string]uint64{"sp": 7}, Owner: json.RawMessage(`"me"`)}))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if len(image.Extents) != 3 {
		t.Errorf("extents %v, want 3", image.Extents)
	}
	got := make([]byte, image.Memory)
	for _, e := range image.Extents {
		if _, err := image.File.ReadAt(got[e.Offset:e.Offset+e.Length], image.Base+int64(e.Offset)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, memory) {
		t.Error("the memory is not the same")
	}
	if image.Globals["sp"] != 7 || string(image.Owner) != `"me"` || image.Base%align != 0 {
		t.Errorf("state %+v at %d", image.State, image.Base)
	}
}

// TestPatch stores what differs from a base or from the layer over it, and nothing else.
func TestPatch(t *testing.T) {
	base := sample()
	memory := append(bytes.Clone(base), make([]byte, 5*page)...)
	clear(memory[:page])   // what is zero now differs, too
	memory[70*page] = 9    // in a hole
	memory[103*page+1] = 9 // behind the base's end
	memory[40*page] = 9    // where nothing is said to differ
	where := []Extent{{0, 3 * page}, {page, page}, {35 * page, page}, {65 * page, 35 * page}, {100 * page, 5 * page}}
	layer := Layer{Extents: []Extent{{35 * page, page}, {70 * page, 2 * page}, {80 * page, page}}, Contents: make([]byte, 4*page)}
	layer.Contents[0] = 7                                        // memory is as the base again
	copy(layer.Contents[page:], memory[70*page:72*page])         // the layer has what memory has
	copy(layer.Contents[3*page:], bytes.Repeat([]byte{8}, page)) // the base is as memory, the layer is not
	image, err := Open(writePatch(t, memory, base, where, layer))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	got := append(bytes.Clone(base), make([]byte, 5*page)...)
	at := 0
	for _, e := range layer.Extents {
		at += copy(got[e.Offset:e.End()], layer.Contents[at:])
	}
	if err := image.Apply(got); err != nil {
		t.Fatal(err)
	}
	memory[40*page] = 0
	if !bytes.Equal(got, memory) || int64(image.Memory) != int64(len(memory)) {
		t.Errorf("another memory of %d bytes", image.Memory)
	}
	size := image.Patch
	if size < page || size > page+10*word {
		t.Errorf("a patch of %d bytes", size)
	}
	for most, want := range map[int64]bool{word: false, size - 1: false, size: true} {
		f := create(t)
		fits, err := WritePatch(f, memory, base, where, layer, most, State{})
		info, serr := f.Stat()
		if err = errors.Join(err, serr, f.Close()); err != nil || fits != want || info.Size() > 0 != want {
			t.Errorf("of at most %d bytes: %v, %v", most, fits, err)
		}
	}
	if image, err = Open(writePatch(t, memory, base, nil, layer)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(image.Apply(got), image.Close()); err != nil || !bytes.Equal(got, memory) {
		t.Errorf("an empty patch: %v", err)
	}
	for name, bad := range map[string][]byte{
		"no length": {1}, "beyond the patch": {1, 2, 3}, "beyond the memory": append(binary.AppendUvarint(nil, uint64(len(memory))), 1, 0),
		"a number without end": bytes.Repeat([]byte{0xff}, 20),
	} {
		f := create(t)
		state := State{Memory: uint64(len(memory)), Delta: true, Patch: int64(len(bad))}
		head, err := state.head()
		if err == nil {
			_, err = f.Write(append(head, bad...))
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		image, err := Open(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := image.Apply(got); err == nil {
			t.Errorf("%s: applied", name)
		}
		image.Close()
	}
}

func create(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "patch"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func writePatch(t *testing.T, memory, base []byte, where []Extent, layer Layer) string {
	f := create(t)
	fits, err := WritePatch(f, memory, base, where, layer, maxMemory, State{})
	if err := errors.Join(err, f.Close()); err != nil || !fits {
		t.Fatal(fits, err)
	}
	return f.Name()
}

// TestDelta stores the pages that differ from a base, and nothing else.
func TestDelta(t *testing.T) {
	base := sample()
	memory := append(bytes.Clone(base), make([]byte, 5*page)...)
	memory[70*page] = 9    // in a hole
	memory[103*page+1] = 9 // behind the base's end
	memory[40*page] = 9    // where nothing is said to differ
	f, err := os.Create(filepath.Join(t.TempDir(), "delta"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	where := []Extent{{0, 3 * page}, {page, page}, {65 * page, 35 * page}, {100 * page, 5 * page}}
	s, err := WriteDelta(f, memory, base, where, State{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Extent{{70 * page, page}, {103 * page, page}}; !slices.Equal(s.Extents, want) {
		t.Errorf("differing: %v, want %v", s.Extents, want)
	}
	image, err := Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	got := append(bytes.Clone(base), make([]byte, 5*page)...)
	for e, at := range image.Stored() {
		if _, err := image.File.ReadAt(got[e.Offset:e.End()], image.Base+at); err != nil {
			t.Fatal(err)
		}
	}
	memory[40*page] = base[40*page]
	if !bytes.Equal(got, memory) || int64(image.Memory) != int64(len(memory)) {
		t.Errorf("another memory of %d bytes", image.Memory)
	}
}

func TestDamaged(t *testing.T) {
	path := write(t, sample(), State{})
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":     func(b []byte) []byte { return nil },
		"truncated": func(b []byte) []byte { return b[:len(b)-1] },
		"longer":    func(b []byte) []byte { return append(b, 0) },
		"foreign":   func(b []byte) []byte { b[0]++; return b },
		"length":    func(b []byte) []byte { b[len(magic)+3] = 0xff; return b },
		"extent":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"offset":0,`), []byte(`"offset":9,`), 1) },
	} {
		if err := os.WriteFile(path, damage(bytes.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		if image, err := Open(path); err == nil {
			image.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func FuzzReadState(f *testing.F) {
	b, err := os.ReadFile(write(f, sample(), State{Globals: map[string]uint64{"sp": 1}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:1024])
	f.Fuzz(func(t *testing.T, b []byte) {
		s, base, err := readState(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, e := range s.Extents {
			if base+int64(e.Offset+e.Length) > int64(len(b)) {
				t.Errorf("extent %+v is outside of %d bytes", e, len(b))
			}
		}
	})
}
