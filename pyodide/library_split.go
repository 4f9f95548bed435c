package pyodide

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"coderunner/internal/cbor"
	"coderunner/pyodide/codestore"
	"coderunner/pyodide/dylink"
	"coderunner/pyodide/hostfn"
	"coderunner/pyodide/split"
)

// splitInfo is what the stub module of a split library keeps for its loader:
//
//	0        4               length
//	┌────────┬───────────────┬───────┬──
//	│ length │ head, as CBOR │ parts │ …
//	└────────┴───────────────┴───────┴──
type splitInfo struct {
	splitHead
	parts []byte // modules
}

type splitHead struct {
	Image []byte     // the stub of the whole library: what a linker knows of it
	Ends  []int      // of the parts
	Calls [][]uint32 // the parts that each one calls
}

// part returns the module of a part.
func (i *splitInfo) part(n uint32) []byte {
	begin := 0
	if n > 0 {
		begin = i.Ends[n-1]
	}
	return i.parts[begin:i.Ends[n]:i.Ends[n]]
}

func encodeSplit(image []byte, m *split.Modules) ([]byte, error) {
	h := splitHead{Image: image, Calls: m.Calls}
	end := 0
	for _, p := range m.Parts {
		end += len(p)
		h.Ends = append(h.Ends, end)
	}
	head, err := cbor.Marshal(h)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(head)+end), uint32(len(head)))
	b = append(b, head...)
	for _, p := range m.Parts {
		b = append(b, p...)
	}
	return b, nil
}

// decodeSplit aliases b.
func decodeSplit(b []byte) (i splitInfo, err error) {
	if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
		return i, errSplit
	}
	head := b[4 : 4+binary.LittleEndian.Uint32(b)]
	if err := cbor.Unmarshal(head, &i.splitHead); err != nil {
		return i, errors.Join(errSplit, err)
	}
	i.parts = b[4+len(head):]
	end := 0
	for _, e := range i.Ends {
		if e < end || e > len(i.parts) {
			return i, errSplit
		}
		end = e
	}
	if len(i.Calls) != len(i.Ends) {
		return i, errSplit
	}
	for _, calls := range i.Calls {
		for _, n := range calls {
			if n >= uint32(len(i.Ends)) {
				return i, errSplit
			}
		}
	}
	return i, nil
}

var errSplit = errors.New("a split library is damaged")

// librarySource is what BuildLibrary compiles.
type librarySource struct{ codestore.Source }

// loads reports whether the export of a library is called whenever it is loaded.
func loads(export string) bool {
	return strings.HasPrefix(export, "__wasm_") || strings.HasPrefix(export, "PyInit_")
}

// split makes the source that of the library's primary module, unless it must stay whole.
func (s *librarySource) split() error {
	s.Later = true
	m, err := split.Module(s.Whole, loads)
	if errors.Is(err, split.ErrWhole) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Info, err = encodeSplit(s.Stub, m); err != nil {
		return err
	}
	s.Whole = m.Primary
	s.Stub, s.Data, err = dylink.Stub(m.Primary)
	return err
}

// loaderKey is the key of a context's *instance, for instantiateLoader.
type loaderKey struct{}

// instantiateLoader makes the host module that the primary modules of split libraries
// import. What it waits for is a library's compilation: see openLibrary.
func instantiateLoader(ctx context.Context, wz wazero.Runtime) error {
	load := func(ctx context.Context, caller api.Module, stack []uint64) {
		in := ctx.Value(loaderKey{}).(*instance)
		in.deadline.pause()
		err := in.linking.linker.LoadPart(ctx, caller, split.Primary, uint32(stack[0]))
		in.deadline.resume()
		if err != nil {
			in.linking.unwindIfDead(hostfn.Trap{Err: err})
		}
	}
	_, err := wz.NewHostModuleBuilder(split.HostModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(load), []api.ValueType{api.ValueTypeI32}, nil).
		WithName(split.Load).WithParameterNames("part").Export(split.Load).Instantiate(ctx)
	return err
}
