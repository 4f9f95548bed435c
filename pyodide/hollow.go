package pyodide

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"coderunner/pyodide/dylink"
	"coderunner/pyodide/rewrite"
	"coderunner/pyodide/wasmbin"
)

// hollow is a module whose functions have no bodies: all that a start needs of
// a module whose machine code is in the store. wazero decodes and validates
// what it is given before it looks whether there is machine code for it, which
// for whole modules takes longer than all the rest of a start; with the code
// at hand it never looks at a body. So it is given the hollow module, and finds
// the whole one's machine code under the hollow one's name.
//
// In the store it is one file:
//
//	0        8         12
//	┌────────┬─────────┬───────────────────────┬────────┬─────────┬──
//	│ magic  │ length  │ hollowHead, as gob    │  wasm  │ data of │ the segments
//	└────────┴─────────┴───────────────────────┴────────┴─────────┴──
type hollow struct {
	hollowHead
	wasm []byte
	data []dylink.Segment // of a library, apart from wasm; nil: in it
}

type hollowHead struct {
	Code   string        // what wazero calls the machine code of the hollow module
	Digest string        // SHA-256 of the whole module, hexadecimal
	Wasm   int           // bytes
	Data   []hollowData  // what of a library's data is apart from wasm
	Apart  bool          // whether any would be
	Info   *rewrite.Info // of the main module, without its data
}

type hollowData struct {
	Addr   uint32
	Length int
}

// hollowMagic changes with the format and with what is hollowed out.
const hollowMagic = "HOLLOW03"

// write writes the file. The head is completed from the rest.
func (h *hollow) write(w io.Writer) error {
	h.Wasm, h.Data, h.Apart = len(h.wasm), nil, h.data != nil
	for _, s := range h.data {
		h.Data = append(h.Data, hollowData{s.Addr, len(s.Bytes)})
	}
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(h.hollowHead); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32([]byte(hollowMagic), uint32(head.Len()))
	b = append(append(b, head.Bytes()...), h.wasm...)
	if _, err := w.Write(b); err != nil {
		return err
	}
	for _, s := range h.data {
		if _, err := w.Write(s.Bytes); err != nil {
			return err
		}
	}
	return nil
}

var errHollow = errors.New("damaged")

// readHollow reads such a file. The result aliases b.
func readHollow(b []byte) (*hollow, error) {
	b, ok := bytes.CutPrefix(b, []byte(hollowMagic))
	if !ok || len(b) < 4 {
		return nil, errHollow
	}
	take := func(n int) []byte {
		if ok = ok && n >= 0 && n <= len(b); !ok {
			return nil
		}
		var part []byte
		part, b = b[:n:n], b[n:]
		return part
	}
	head := take(int(binary.LittleEndian.Uint32(take(4))))
	h := new(hollow)
	if err := gob.NewDecoder(bytes.NewReader(head)).Decode(&h.hollowHead); err != nil {
		return nil, errors.Join(errHollow, err)
	}
	h.wasm = take(h.Wasm)
	if h.Apart {
		h.data = []dylink.Segment{}
	}
	for _, d := range h.hollowHead.Data {
		h.data = append(h.data, dylink.Segment{Addr: d.Addr, Bytes: take(d.Length)})
	}
	if !ok || h.Code == "" || h.Code != filepath.Base(h.Code) {
		return nil, errHollow
	}
	return h, nil
}

// whole is a rewritten module. It is only made when its machine code is.
type whole struct {
	item string // for progress
	wasm []byte
	info *rewrite.Info // of the main module
}

// wholeSection is the custom section of a hollow module that says which module
// it was: two whole ones may differ in nothing but their bodies, and wazero keeps
// what it has loaded by the module's hash.
const wholeSection = "whole"

// hollow makes the hollow module, but for its name.
func (m *whole) hollow() (*hollow, error) {
	h := &hollow{hollowHead: hollowHead{Digest: digest(m.wasm)}}
	if m.info == nil {
		var err error
		if h.wasm, h.data, err = dylink.Hollow(m.wasm); err != nil {
			return nil, err
		}
	} else {
		parsed, err := wasmbin.Parse(m.wasm)
		if err != nil {
			return nil, err
		}
		info := *m.info
		info.Data = nil // most of it, and only needed to boot
		h.Info, h.wasm = &info, parsed.Hollow(nil)
	}
	h.wasm = wasmbin.AppendSection(h.wasm, wasmbin.SecCustom, wasmbin.AppendName(nil, wholeSection), []byte(h.Digest))
	return h, nil
}

// kinds are what the store calls a hollow module and its machine code.
type kinds struct{ hollow, code string }

var (
	mainKinds    = kinds{"module", "machine-code"}
	libraryKinds = kinds{"library", "library-code"}
)

// stored gives the paths of the hollow module and of the machine code that
// belong to key, out of the store. What is missing is made of the whole module.
func (r *Runtime) stored(ctx context.Context, k kinds, key string, made func() (*whole, error)) (file, code string, err error) {
	key = fmt.Sprintf("%s %s %s", key, hollowMagic, r.stamp)
	file, err = r.config.Store.File(ctx, k.hollow, key, func(ctx context.Context, w io.Writer) error {
		m, err := made()
		if err != nil {
			return err
		}
		return m.writeHollow(ctx, w)
	})
	if err != nil {
		return "", "", err
	}
	code, err = r.config.Store.File(ctx, k.code, key, func(ctx context.Context, w io.Writer) error {
		m, err := made()
		if err != nil {
			return err
		}
		return m.writeCode(ctx, w, r.progress)
	})
	return file, code, err
}

// openHollow maps a hollow module. The caller calls unmap when nothing uses it
// any more.
func openHollow(file string) (h *hollow, unmap func() error, err error) {
	data, unmap, err := mapFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read hollow module: %w", err)
	}
	if h, err = readHollow(data); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read %s: %w", file, err), unmap())
	}
	return h, unmap, nil
}

// writeHollow writes the hollow module. What wazero calls its machine code, it
// tells when it compiles it.
func (m *whole) writeHollow(ctx context.Context, w io.Writer) error {
	h, err := m.hollow()
	if err != nil {
		return err
	}
	dir, err := dirBeside(w)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := compileInto(ctx, dir, h.wasm)
	if err != nil {
		return err
	}
	h.Code = filepath.Base(file)
	return h.write(w)
}

// writeCode compiles the module and writes its machine code as wazero does.
func (m *whole) writeCode(ctx context.Context, w io.Writer, progress func(Progress)) error {
	dir, err := dirBeside(w)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stop := elapsing(progress, Progress{Phase: "compile", Item: m.item})
	defer stop()
	file, err := compileInto(ctx, dir, m.wasm)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// dirBeside makes a folder where the store has its unfinished files: they are
// removed when this process is killed, and there is room.
func dirBeside(w io.Writer) (string, error) {
	f, ok := w.(*os.File)
	if !ok {
		return tempDir()
	}
	return os.MkdirTemp(filepath.Dir(f.Name()), tempPrefix)
}

// load gives wazero a hollow module with the machine code in a file. Should
// wazero not take that, the whole module is compiled, for this process alone:
// nothing is ever run with the bodies that the hollow one has.
func (r *Runtime) load(ctx context.Context, h *hollow, code string, made func() (*whole, error)) (wazero.CompiledModule, error) {
	c, err := r.code.load(ctx, r.wz, h.wasm, h.Code, code)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	m, merr := made()
	if merr != nil {
		return nil, errors.Join(err, merr)
	}
	return r.code.compile(compileContext(ctx), r.wz, m.wasm)
}
