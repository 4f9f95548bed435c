package sandbox

import (
	"reflect"
	"strings"
	"testing"
)

// The lines of /proc/PID/smaps that matter, from a Deno: the second range is V8's, which no thread
// may write but by a function of its own, with a key that processors without keys do not show.
const smaps = `7faadc000000-7faadc010000 rw-p 00000000 00:00 0
Size:                 64 kB
ProtectionKey:         0
VmFlags: rd wr mr mw me
7faadc010000-7faadc030000 rw-p 00000000 00:00 0
ProtectionKey:         1
VmFlags: rd wr mr mw me
7faadc030000-7faadc040000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me dc
7faadc040000-7faadc041000 r--p 00000000 fe:00 5 /usr/lib/libc.so.6
VmFlags: rd mr mw me
`

func TestParseMaps(t *testing.T) {
	want := memory{
		hidden:  []pages{{0x7faadc030000, 0x10000}},
		written: []pages{{0x7faadc000000, 0x10000}, {0x7faadc030000, 0x10000}},
		files:   []pages{{0x7faadc040000, 0x1000}},
	}
	parse := func(smaps string) (m memory, err error) {
		all, err := parseMaps(strings.NewReader(smaps))
		if err == nil {
			m, err = forForks(all)
		}
		return m, err
	}
	if m, err := parse(smaps); err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%x, %v, want %x", m, err, want)
	}
	for _, text := range []string{"7f00-8f00 rw-s 0 00:01 7 /dev/zero\nVmFlags: rd wr sh mr\n", "7f00-what rw-p 0 00:00 0\n", "1-2\n"} {
		if m, err := parse(text); err == nil {
			t.Errorf("%q is taken for %x", text, m)
		}
	}
}
