package pyodide

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"coderunner/internal/machine/abi"
)

// strerrors is how many numbers libc's strerror has a text for, from 0. The texts
// follow the table of their 16-bit offsets (musl's src/errno/strerror.c).
const strerrors = 154

// writeErrorTexts replaces the texts of libc's strerror by those of errnos.txt, which
// programs look for: "Address already in use" is musl's "Address in use". The first
// of errnos.txt fit where musl's were; the others become strerror's "Unknown error".
func (in *instance) writeErrorTexts(g guest) error {
	first, err := g.call("strerror", 0)
	if err != nil {
		return err
	}
	mem := in.mod.Memory()
	table, ok := mem.Read(first-2*strerrors, 2*strerrors)
	end := uint32(0)
	for n := range uint32(strerrors) {
		p, err := g.call("strerror", n)
		if err != nil {
			return err
		}
		offset := uint32(binary.LittleEndian.Uint16(table[2*n:]))
		if !ok || n > 0 && offset > 0 && p != first+offset {
			return fmt.Errorf("strerror(%d) is at %#x, not as its table says", n, p)
		}
		end = max(end, offset)
	}
	texts, ok := mem.Read(first, end+maxErrorText)
	if !ok {
		return errOutOfRange
	}
	size := int(end) + bytes.IndexByte(texts[end:], 0) + 1
	clear(table)
	at := 0
	for _, e := range abi.Errnos() {
		text := append([]byte(e.Text()), 0)
		if int(e) >= strerrors || at+len(text) > size {
			continue
		}
		binary.LittleEndian.PutUint16(table[2*e:], uint16(at))
		at += copy(texts[at:], text)
	}
	return nil
}

const maxErrorText = 64 // bytes, that of any text
