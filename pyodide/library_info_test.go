package pyodide

import (
	"bytes"
	"testing"

	"coderunner/pyodide/split"
)

// FuzzSplitInfo wants no panic of what a damaged cache has of a split library, and the parts of
// an undamaged one.
func FuzzSplitInfo(f *testing.F) {
	parts := [][]byte{[]byte("first"), {}, []byte("third")}
	whole, err := encodeSplit([]byte("image"), &split.Modules{Parts: parts, Calls: [][]uint32{{2, 1}, nil, {0}}})
	if err != nil {
		f.Fatal(err)
	}
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := decodeSplit(b)
		if err != nil {
			if bytes.Equal(b, whole) {
				t.Error(err)
			}
			return
		}
		for n := range info.Ends {
			if p := info.part(uint32(n)); bytes.Equal(b, whole) && !bytes.Equal(p, parts[n]) {
				t.Errorf("part %d is %q", n, p)
			}
		}
	})
}
