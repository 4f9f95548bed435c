package text

import (
	"bytes"
	"io"

	"coderunner/internal/userland/commands/command"
)

// blocks calls f with each block of n bytes of the inputs, the last one shorter.
func blocks(c *command.Call, r io.Reader, n int, f func(block []byte) bool) {
	buf := make([]byte, n)
	for !c.Stopped() {
		m, err := io.ReadFull(r, buf)
		if m > 0 && !f(buf[:m]) || err != nil {
			return
		}
	}
}

// squeezed is blocks that calls f with where each begins, and unless all are wanted prints
// "*" for those that are like the one before. It returns where the last one ends.
func squeezed(c *command.Call, r io.Reader, n int, at int64, all bool, f func(block []byte, at int64)) int64 {
	var before []byte
	starred := false
	blocks(c, r, n, func(b []byte) bool {
		if all || len(b) < n || !bytes.Equal(b, before) {
			before, starred = append(before[:0], b...), false
			f(b, at)
		} else if !starred {
			starred = true
			c.Print("*\n")
		}
		at += int64(len(b))
		return true
	})
	return at
}

// hexStyles are the formats that the options of hexdump stand for.
var hexStyles = map[string][]string{
	"":  {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "%04x " "\n"`},
	"b": {`"%07.7_Ax\n"`, `"%07.7_ax " 16/1 "%03o " "\n"`},
	"c": {`"%07.7_Ax\n"`, `"%07.7_ax " 16/1 "%3_c " "\n"`},
	"d": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "  %05u " "\n"`},
	"o": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 " %06o " "\n"`},
	"x": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "   %04x " "\n"`},
	"C": {`"%08.8_Ax\n"`, `"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x "`, `"  |" 16/1 "%_p" "|\n"`},
}

// Hexdump is the dump of BSD, in its canonical form with -C.
func Hexdump(c *command.Call) int {
	o := c.Parse("C,canonical b c d n,length= o s,skip= v,no-squeezing x e= !f=")
	var in io.Reader = c.Concat(o.Args)
	offset := int64(0)
	if n, ok := command.Size(o.Value("s", "0")); ok {
		offset, _ = io.CopyN(io.Discard, in, n)
	}
	if n, ok := command.Size(o.Value("n", "")); ok && o.On("n") {
		in = io.LimitReader(in, n)
	}
	specs := hexStyles[o.Last("b", "c", "d", "o", "x")]
	switch {
	case o.On("e"):
		specs = o.Values("e")
	case o.On("C") || c.Name == "hd":
		specs = hexStyles["C"]
	}
	return hexFormats(c, specs, o.On("v"), in, offset)
}
