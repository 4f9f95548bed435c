package linmem

// Range is a part of a memory, in bytes.
type Range struct{ Offset, Length uint64 }

// appendRange adds a range that is not before the last one.
func appendRange(out []Range, r Range) []Range {
	if n := len(out); n > 0 && out[n-1].Offset+out[n-1].Length == r.Offset {
		out[n-1].Length += r.Length
		return out
	}
	return append(out, r)
}
