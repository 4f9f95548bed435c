package rewrite

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"coderunner/pyodide/wasmbin"
)

// Numbers of the tags that Emscripten defines, in __eh_flag.
const (
	tagCppException = 1
	tagLongjmp      = 2
)

var knownTags = map[string]int32{"__cpp_exception": tagCppException, "__c_longjmp": tagLongjmp}

// numberTags assigns each tag the number by which modules recognise it: a known
// name's own, else one derived from the name, or from the whole module when the
// tag has no name outside of it.
func (r *rewriter) numberTags() error {
	r.tagIDs = make([]int32, len(r.m.Tags))
	keys := make([]string, len(r.m.Tags))
	for _, im := range r.m.Imports {
		if im.Kind == wasmbin.KindTag {
			keys[im.Index] = im.Name
		}
	}
	for _, e := range r.m.Exports {
		if e.Kind != wasmbin.KindTag || keys[e.Index] == e.Name {
			continue
		}
		if k := keys[e.Index]; k != "" {
			return r.fail("export", 0, "tag %d has two names, %q and %q", e.Index, k, e.Name)
		}
		keys[e.Index] = e.Name
	}
	var module [sha256.Size]byte
	owner := map[int32]string{tagCppException: "__cpp_exception", tagLongjmp: "__c_longjmp"}
	for i := range keys {
		t := r.m.TagType(uint32(i))
		if len(t.Results) > 0 || len(t.Params) > 1 || len(t.Params) == 1 && t.Params[0] != wasmbin.I32 {
			return r.fail("tag", 0, "tag %d: a payload other than one i32 is not supported", i)
		}
		key := keys[i]
		id := knownTags[key]
		if id == 0 {
			if key == "" {
				if module == [sha256.Size]byte{} {
					module = sha256.Sum256(r.in)
				}
				key = fmt.Sprintf("\x00%x %d", module, i)
			}
			h := sha256.Sum256([]byte("tag " + key))
			id = int32(binary.LittleEndian.Uint32(h[:])&0x7fffffff) | 0x100
		}
		if o, ok := owner[id]; ok && o != key {
			return r.fail("tag", 0, "tags %q and %q get the same number", o, key)
		}
		owner[id], r.tagIDs[i] = key, id
	}
	return nil
}

// hasPayload reports whether a tag carries an i32.
func (r *rewriter) hasPayload(tag uint32) bool { return len(r.m.TagType(tag).Params) > 0 }
