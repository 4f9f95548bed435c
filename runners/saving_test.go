package runners

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSaving writes parts and their ends in any order, of what stays small and what does not.
func TestSaving(t *testing.T) {
	for _, size := range []int{0, 1, MaxSmall, MaxSmall + 1, 3 * MaxSmall} {
		for _, takesSmall := range []bool{true, false} {
			want := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
			s, small := &Session{Save: t.TempDir()}, []byte(nil)
			if takesSmall {
				s.SaveSmall = func(name string, data []byte) error {
					small = append([]byte(name+":"), data...)
					return nil
				}
			}
			w := s.Saving("memory")
			_, err := w.WriteAt(want[size/2:], int64(size/2))
			if err == nil {
				_, err = w.WriteAt(want[:size/2], 0)
			}
			if err = w.Close(errors.Join(err, w.Truncate(int64(size)))); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(filepath.Join(s.Save, "memory"))
			if takesSmall && size <= MaxSmall {
				file = bytes.TrimPrefix(small, []byte("memory:"))
			}
			if !bytes.Equal(file, want) {
				t.Errorf("%d bytes, small ones taken: %v: %d are saved, %v", size, takesSmall, len(file), err)
			}
		}
	}
}

// TestSavingFails has nothing saved of what failed.
func TestSavingFails(t *testing.T) {
	s := &Session{Save: t.TempDir(), SaveSmall: func(string, []byte) error { t.Error("it is saved"); return nil }}
	w := s.Saving("memory")
	if _, err := w.WriteAt([]byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(os.ErrInvalid); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
