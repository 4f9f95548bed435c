package prelink

import (
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// build builds a program that is position-independent and linked by the dynamic loader.
func build(t testing.TB, ldflags string) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("executables are relocated on linux/amd64 only")
	}
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-buildmode=pie", "-ldflags=-s -w "+ldflags, "-o", path, "./testdata/program.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// relocated copies the program at path and returns the copy's path.
func relocated(t testing.TB, path string, base uint64) (string, error) {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(t.TempDir(), "copy"), os.O_RDWR|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	return to.Name(), Copy(to, from, base)
}

func run(t *testing.T, path string) (output string, function uint64) {
	t.Helper()
	out, err := exec.Command(path).Output()
	if err != nil {
		t.Fatal(err)
	}
	output, last, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if function, err = strconv.ParseUint(last, 0, 64); err != nil {
		t.Fatal(err)
	}
	return output, function
}

// A copy does what the original does, always at the base, where the original is not.
func TestCopy(t *testing.T) {
	original := build(t, "-bindnow")
	want, _ := run(t, original)
	for range 3 {
		base := Base()
		path, err := relocated(t, original, base)
		if err != nil {
			t.Fatal(err)
		}
		var places [2]uint64
		for i := range places {
			var got string
			if got, places[i] = run(t, path); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if places[0] != places[1] || places[0] < base || places[0] > base+1<<26 {
			t.Errorf("a function is at %#x, and the base %#x", places, base)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if text := f.Section(".text"); f.Type != elf.ET_EXEC || text.Addr < base || f.Entry < base {
			t.Errorf("%v, begins at %#x, its code is at %#x", f.Type, f.Entry, text.Addr)
		}
		holds := func(r [2]uintptr) bool { return f.Entry-uint64(r[0]) < uint64(r[1]) }
		if ranges := ReadOnly(path); !slices.ContainsFunc(ranges, holds) || ReadOnly(original) != nil {
			t.Errorf("%x are only read, and the entry is %#x", ranges, f.Entry)
		}
		if size, err := f.DynValue(elf.DT_RELASZ); err != nil || len(size) != 1 || size[0] != 0 {
			t.Errorf("%d bytes of relocations are left: %v", size, err)
		}
		f.Close()
	}
}

func TestUnsupported(t *testing.T) {
	bound := build(t, "-bindnow")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	fixed, err := relocated(t, bound, Base())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path string
		base uint64
	}{"a text": {text, Base()}, "linked lazily": {build(t, ""), Base()}, "a copy": {fixed, Base()}, "no page": {bound, Base() + 1}} {
		if _, err := relocated(t, tc.path, tc.base); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v, want %v", name, err, ErrUnsupported)
		}
	}
}

// Whatever a file claims of itself is an error or a copy, and takes no more memory than it may.
func FuzzRelocate(f *testing.F) {
	original, err := os.ReadFile(build(f, "-bindnow"))
	if err != nil {
		f.Fatal(err)
	}
	program, err := elf.Open(build(f, "-bindnow"))
	if err != nil {
		f.Fatal(err)
	}
	defer program.Close()
	for _, s := range program.Sections {
		f.Add(uint32(s.Offset), []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0})
	}
	f.Add(uint32(64), []byte{1, 0, 0, 0, 6, 0, 0, 0, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, offset uint32, change []byte) {
		file := append([]byte(nil), original...)
		copy(file[int(offset)%len(file):], change)
		parsed, err := elf.NewFile(strings.NewReader(string(file)))
		if err != nil {
			return
		}
		e := executable{File: parsed, from: strings.NewReader(string(file)), base: lowest}
		if err := e.relocate(); err != nil && !errors.Is(err, ErrUnsupported) && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if e.size > maxChanged {
			t.Errorf("%d bytes are in memory", e.size)
		}
	})
}
