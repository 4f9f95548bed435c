package wheel

// Limits bound a wheel's contents. They are counted while inflating; sizes in the
// headers are not trusted.
type Limits struct {
	Entries    int   // entries of the archive
	TotalBytes int64 // all files together, unpacked
	NameBytes  int   // length of an entry's name
	Ratio      int64 // unpacked to packed size, for wheels past RatioFrom
	RatioFrom  int64 // bytes, unpacked
}

// DefaultLimits leave room for the largest wheels of PyPI.
var DefaultLimits = Limits{
	Entries:    60_000,
	TotalBytes: 2 << 30,
	NameBytes:  1024,
	Ratio:      100,
	RatioFrom:  64 << 20,
}

// RefusedError is why a wheel is not trusted.
type RefusedError struct {
	File   string // the wheel's file name
	Reason string // one sentence without a full stop
}

func (e *RefusedError) Error() string { return "wheel " + e.File + " refused: " + e.Reason }
