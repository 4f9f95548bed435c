package layout

import "time"

// TmSize is the size of struct tm:
//
//	 0     4     8      12     16    20     24     28     32      36       40     44
//	| sec | min | hour | mday | mon | year | wday | yday | isdst | gmtoff | zone |
const TmSize = 44

// Tm is struct tm without tm_zone, a pointer that libc looks after: months and
// days of the year count from 0, years from 1900.
type Tm struct {
	Sec, Min, Hour, Mday, Mon, Year int32
	Wday, Yday, Isdst, Gmtoff       int32
}

// NewTm is t in its own location.
func NewTm(t time.Time) Tm {
	_, off := t.Zone()
	m := Tm{
		Sec: int32(t.Second()), Min: int32(t.Minute()), Hour: int32(t.Hour()),
		Mday: int32(t.Day()), Mon: int32(t.Month()) - 1, Year: int32(t.Year() - 1900),
		Wday: int32(t.Weekday()), Yday: int32(t.YearDay()) - 1, Gmtoff: int32(off),
	}
	if t.IsDST() {
		m.Isdst = 1
	}
	return m
}

// DecodeTm reads the first TmSize bytes of b.
func DecodeTm(b []byte) Tm {
	_ = b[TmSize-1]
	i := func(n int) int32 { return int32(le.Uint32(b[4*n:])) }
	return Tm{i(0), i(1), i(2), i(3), i(4), i(5), i(6), i(7), i(8), i(9)}
}

// Put writes m to the first 40 bytes of b and leaves tm_zone as it is.
func (m *Tm) Put(b []byte) {
	_ = b[TmSize-1]
	for n, v := range [...]int32{m.Sec, m.Min, m.Hour, m.Mday, m.Mon, m.Year, m.Wday, m.Yday, m.Isdst, m.Gmtoff} {
		le.PutUint32(b[4*n:], uint32(v))
	}
}
