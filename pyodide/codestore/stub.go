package codestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"

	"coderunner/internal/cbor"
	"coderunner/pyodide/wasmbin"
)

// Stub is a stub module: all of a module but the bodies of its functions, which
// trap. Its file is
//
//	0        8         12
//	┌────────┬─────────┬───────────────┬────────┬────────┬─────────┬──
//	│ magic  │ length  │ head, as CBOR │  wasm  │  info  │ data of │ the segments
//	└────────┴─────────┴───────────────┴────────┴────────┴─────────┴──
type Stub struct {
	Wasm   []byte
	Data   []wasmbin.Segment // stored apart from Wasm; nil: in it
	Info   []byte            // of the caller, from Source
	Digest string            // of the whole module
	Layout Layout            // of its machine code
	places []byte            // of its machine code
	code   string            // the name of its machine code in wazero's directory
}

// head is the header of a stub's file.
type head struct {
	Code, Digest string
	Wasm, Info   int // bytes
	Data         []dataHead
	Apart        bool // whether data is apart from Wasm
	Layout       Layout
	Places       []byte
}

type dataHead struct {
	Addr   uint32
	Length int
}

// format changes with the format of stub modules and with what they leave out.
const format = "STUB0002"

// write writes the file.
func (s *Stub) write(w io.Writer) error {
	h := head{Code: s.code, Digest: s.Digest, Wasm: len(s.Wasm), Info: len(s.Info), Apart: s.Data != nil, Layout: s.Layout, Places: s.places}
	for _, d := range s.Data {
		h.Data = append(h.Data, dataHead{d.Addr, len(d.Bytes)})
	}
	text, err := cbor.Marshal(h)
	if err != nil {
		return err
	}
	begin := binary.LittleEndian.AppendUint32([]byte(format), uint32(len(text)))
	all := [][]byte{append(begin, text...), s.Wasm, s.Info}
	for _, d := range s.Data {
		all = append(all, d.Bytes)
	}
	for _, b := range all {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

var errDamaged = errors.New("the stub module is damaged")

// ReadStub reads the file of a stub module. The result aliases b, but for what Trace uses.
func ReadStub(b []byte) (*Stub, error) {
	b, ok := bytes.CutPrefix(b, []byte(format))
	if !ok || len(b) < 4 {
		return nil, errDamaged
	}
	take := func(n int) []byte {
		if ok = ok && n >= 0 && n <= len(b); !ok {
			return nil
		}
		var part []byte
		part, b = b[:n:n], b[n:]
		return part
	}
	text := take(int(binary.LittleEndian.Uint32(take(4))))
	var h head
	if err := cbor.Unmarshal(text, &h); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	s := &Stub{Wasm: take(h.Wasm), Info: take(h.Info), Digest: h.Digest, Layout: h.Layout, places: h.Places, code: h.Code}
	if h.Apart {
		s.Data = []wasmbin.Segment{}
	}
	for _, d := range h.Data {
		s.Data = append(s.Data, wasmbin.Segment{Addr: d.Addr, Bytes: take(d.Length)})
	}
	if !ok || h.Code == "" || h.Code != filepath.Base(h.Code) {
		return nil, errDamaged
	}
	return s, nil
}

// Digest returns the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
