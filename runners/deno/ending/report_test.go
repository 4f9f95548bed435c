package ending

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestReadReportIsBounded reads a report that goes on and on.
func TestReadReportIsBounded(t *testing.T) {
	one := []byte("t")
	for _, field := range []string{"Error", strings.Repeat("m", 20000), strings.Repeat("s", 20000), "", ""} {
		one = binary.LittleEndian.AppendUint32(one, uint32(len(field)))
		one = append(one, field...)
	}
	endless := &repeated{b: one, left: 2 * maxReport}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rep := ReadReport(endless, runners.DefaultOutput, "", nil, nil)
	runtime.ReadMemStats(&after)
	if rep.thrown == nil || rep.thrown.kind != "Error" || endless.left > 0 {
		t.Errorf("%.100v, %d bytes are left", rep, endless.left)
	}
	if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > 64<<20 {
		t.Errorf("%d MiB are in use", live>>20)
	}
	for _, broken := range []string{"?", "x\x03\x00\x00\x00abc", "r\xff\xff\xff\xff", "e\x00\x10\x00\x00"} {
		if rep := ReadReport(bytes.NewBufferString(broken), 10, "", nil, nil); rep.broken == nil {
			t.Errorf("%q is taken for a report: %+v", broken, rep)
		}
	}
	for _, half := range []string{"", "x", "x\x01\x00", "x\x01\x00\x00\x00", "r\x01\x00\x00\x00"} {
		if rep := ReadReport(bytes.NewBufferString(half), 10, "", nil, nil); rep.broken != nil || rep.exit != nil {
			t.Errorf("%q, as a killed process leaves it: %+v", half, rep)
		}
	}
}

// repeated is a reader of the same bytes again and again.
type repeated struct {
	b    []byte
	at   int
	left int
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, os.ErrClosed
	}
	n := copy(b, r.b[r.at:])
	r.at = (r.at + n) % len(r.b)
	r.left -= n
	return n, nil
}
