package emscripten

import (
	"math"
	"time"

	"coderunner/pyodide/emscripten/layout"
)

// Of struct tm (layout.Tm) the guest's C library fills in the zone itself, from
// the names of _tzset_js.

// maxSeconds is where a year surely no longer fits an int32. A time beyond it is
// taken for it: the functions have no way to report an error.
const maxSeconds = (math.MaxInt32 + 4000) * 31556952

// putTm writes t to b, which has room for it.
func putTm(b []byte, t time.Time) {
	m := layout.NewTm(t)
	// CPython adds 1900 without looking whether the sum fits an int.
	m.Year = int32(min(max(int64(t.Year())-1900, math.MinInt32), math.MaxInt32-1900))
	m.Put(b)
}

func unixTime(seconds int64, loc *time.Location) time.Time {
	return time.Unix(min(max(seconds, -maxSeconds), maxSeconds), 0).In(loc)
}

func doGmtime(c call) {
	if b, ok := c.mem.Bytes(c.u32(1), layout.TmSize); ok {
		putTm(b, unixTime(c.i64(0), time.UTC))
	}
}

func doLocaltime(c call) {
	if b, ok := c.mem.Bytes(c.u32(1), layout.TmSize); ok {
		putTm(b, unixTime(c.i64(0), c.p.location))
	}
}

// readTm returns the time of the fields, taken as UTC, and isdst. Fields
// out of their ranges carry over, as C wants.
func readTm(b []byte) (t time.Time, isdst int32) {
	m := layout.DecodeTm(b)
	return time.Date(int(m.Year)+1900, time.Month(int(m.Mon)+1), int(m.Mday),
		int(m.Hour), int(m.Min), int(m.Sec), 0, time.UTC), m.Isdst
}

// doMktime is mktime: the local time of struct tm as seconds since 1970, with
// the fields put right.
func doMktime(c call) uint64 {
	return c.seconds(func(wall time.Time, isdst int32) time.Time { return resolveLocal(wall, isdst, c.p.location) })
}

func doTimegm(c call) uint64 {
	return c.seconds(func(wall time.Time, _ int32) time.Time { return wall })
}

// seconds returns the seconds since 1970 of the struct tm at argument 0, whose time
// resolve finds, and puts its fields right.
func (c call) seconds(resolve func(wall time.Time, isdst int32) time.Time) uint64 {
	b, ok := c.mem.Bytes(c.u32(0), layout.TmSize)
	if !ok {
		return ^uint64(0)
	}
	t := resolve(readTm(b))
	if !yearFits(t) {
		return ^uint64(0)
	}
	putTm(b, t)
	return uint64(t.Unix())
}

func yearFits(t time.Time) bool {
	y := int64(t.Year()) - 1900
	return y >= math.MinInt32 && y <= math.MaxInt32-1900
}

// resolveLocal finds the instant at which a clock in a place shows wall.
//
// An hour that is there twice is the one that isdst says (positive: daylight
// time; 0: standard time) and the first if it says nothing. An hour that is
// not there is taken with the offset of before the gap, so that the result is
// after it. A positive isdst in winter, or 0 in summer, means the clock was
// read as the other time, and moves the result.
func resolveLocal(wall time.Time, isdst int32, loc *time.Location) time.Time {
	at := func(offset int) time.Time { return wall.Add(-time.Duration(offset) * time.Second).In(loc) }
	offsetOf := func(t time.Time) int { _, o := t.Zone(); return o }
	before := offsetOf(wall.Add(-24 * time.Hour).In(loc))
	after := offsetOf(wall.Add(24 * time.Hour).In(loc))

	var found []time.Time // what shows wall, earliest first
	for _, o := range [...]int{max(before, after), min(before, after)} {
		if t := at(o); offsetOf(t) == o && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	for _, t := range found {
		if isdst < 0 || t.IsDST() == (isdst > 0) {
			return t
		}
	}
	if isdst >= 0 {
		if o, ok := otherOffset(at(before), isdst > 0); ok {
			return at(o)
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	return at(before)
}

// otherOffset finds the offset of daylight (or standard) time that is in force
// nearest to t, within a year.
func otherOffset(t time.Time, dst bool) (offset int, ok bool) {
	for _, days := range [...]int{0, 91, -91, 182, -182, 273, -273} {
		near := t.AddDate(0, 0, days)
		if near.IsDST() == dst {
			_, offset = near.Zone()
			return offset, true
		}
	}
	return 0, false
}

// tzNameMax is the size of the C library's buffers for zone names.
const tzNameMax = 17

// doTzset is _tzset_js(long *timezone, int *daylight, char *std, char *dst).
// Upstream makes up names such as "UTC+0100"; here they are the zone's own.
//
// The guest asks once, so the addresses are kept for [Process.Resume].
func doTzset(c call) {
	c.p.Resume(Zone{c.u32(0), c.u32(1), c.u32(2), c.u32(3)}, true)
}

// SetLocation changes the time zone.
func (p *Process) SetLocation(l *time.Location) {
	p.location = l
	p.Resume(p.zone, true)
}

// Zone returns the addresses of the guest's time zone.
func (p *Process) Zone() Zone { return p.zone }

// Resume sets where a guest, whose memory comes from another process, keeps its
// time zone, and writes the zone there if it is another one now. The guest must not run.
func (p *Process) Resume(z Zone, another bool) {
	if p.zone = z; z == (Zone{}) || !another {
		return
	}
	year := p.clock.now().In(p.location).Year()
	std := time.Date(year, time.January, 1, 0, 0, 0, 0, p.location)
	dst := time.Date(year, time.July, 1, 0, 0, 0, 0, p.location)
	if std.IsDST() && !dst.IsDST() {
		std, dst = dst, std
	}
	stdName, stdOffset := std.Zone()
	dstName, _ := dst.Zone()
	daylight := uint32(0)
	if dst.IsDST() {
		daylight = 1
	} else {
		dstName = stdName
	}
	p.mem.PutUint32(z[0], uint32(-stdOffset))
	p.mem.PutUint32(z[1], daylight)
	p.mem.PutCString(z[2], tzNameMax, stdName)
	p.mem.PutCString(z[3], tzNameMax, dstName)
}
