//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. Both systems are little-endian.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // eight bytes each
)

// program is a filter in the making.
type program []unix.SockFilter

func (p *program) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

// unless goes on with the next n instructions if the loaded value is not k,
// and skips them if it is.
func (p *program) unless(k uint32, n uint8) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: n, K: k})
}

// when goes on with the next n instructions if the loaded value is k.
func (p *program) when(k uint32, n uint8) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: n, K: k})
}

func (p *program) answer(what uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what})
}

func (p *program) fail(errno unix.Errno) { p.answer(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// any skips the next n instructions if the loaded value has none of the bits.
func (p *program) any(bits uint32, n uint8) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: n, K: bits})
}

// mask leaves the given bits of the loaded value.
func (p *program) mask(bits uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: bits})
}

// image is a program for filters as the kernel reads it at an address: a
// struct sock_fprog, and then what it points to.
func (p program) image(address uintptr) []byte {
	var b bytes.Buffer
	for _, part := range []any{uint16(len(p)), [6]byte{}, uint64(address) + 16, []unix.SockFilter(p)} {
		_ = binary.Write(&b, binary.LittleEndian, part) // as both processors are; a Buffer takes everything
	}
	return b.Bytes()
}
