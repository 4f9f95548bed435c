package emscripten

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"
)

var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kolkata", "Asia/Kathmandu",
	"Australia/Lord_Howe", "Australia/Sydney", "Pacific/Auckland", "Pacific/Apia", "Africa/Cairo",
	"America/Sao_Paulo", "Asia/Tokyo", "Pacific/Kiritimati", "Europe/London", "Asia/Tehran",
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

const tmAddr = 0x100

// tm reads the fields of struct tm, gmtoff included.
func (k *kernel) tm() (f [10]int32) {
	for i := range f {
		f[i] = int32(k.word(tmAddr + 4*uint32(i)))
	}
	return f
}

func (k *kernel) putTM(f [10]int32) {
	for i, v := range f {
		binary.LittleEndian.PutUint32(k.mem[tmAddr+4*i:], uint32(v))
	}
}

func fields(t time.Time) [10]int32 {
	dst := int32(0)
	if t.IsDST() {
		dst = 1
	}
	_, offset := t.Zone()
	return [10]int32{
		int32(t.Second()), int32(t.Minute()), int32(t.Hour()), int32(t.Day()), int32(t.Month()) - 1,
		int32(t.Year() - 1900), int32(t.Weekday()), int32(t.YearDay()) - 1, dst, int32(offset),
	}
}

// TestLocaltime: localtime agrees with Go in every zone, and mktime undoes it,
// whether it is told about daylight time or, where the hour is not there
// twice, has to find out.
func TestLocaltime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, name := range zones {
		loc := zone(t, name)
		k := newKernel(t, Config{Location: loc})
		for i := range 3000 {
			sec := rnd.Int64N(200*365*86400) - 100*365*86400
			if i%10 == 0 {
				sec = rnd.Int64N(1<<45) - 1<<44 // far years
			}
			copy(k.mem[tmAddr+40:], "????")
			k.call("_localtime_js", sec, tmAddr)
			want := fields(time.Unix(sec, 0).In(loc))
			if got := k.tm(); got != want {
				t.Fatalf("%s: localtime(%d) = %v, want %v", name, sec, got, want)
			}
			k.wantMemory(tmAddr+40, "????") // the zone's name is the guest's
			if got := k.call("_mktime_js", tmAddr); got != sec && !ambiguous(loc, sec) {
				t.Fatalf("%s: mktime(localtime(%d)) = %d", name, sec, got)
			}
			k.putTM(want)
			binary.LittleEndian.PutUint32(k.mem[tmAddr+32:], math.MaxUint32) // isdst -1
			if got := k.call("_mktime_js", tmAddr); got != sec && !ambiguous(loc, sec) {
				t.Fatalf("%s: mktime(localtime(%d)) without isdst = %d", name, sec, got)
			}
		}
	}
}

// ambiguous reports whether a clock shows the same again within a day.
func ambiguous(loc *time.Location, sec int64) bool {
	t := time.Unix(sec, 0).In(loc)
	_, o := t.Zone()
	for _, d := range []time.Duration{-25 * time.Hour, 25 * time.Hour} {
		if _, o2 := t.Add(d).Zone(); o2 != o {
			return true
		}
	}
	return false
}

func TestMktime(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	k := newKernel(t, Config{Location: berlin})
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.Unix()
	}
	for _, c := range []struct {
		name string
		tm   [10]int32
		want int64
	}{
		{"summer", [10]int32{0, 0, 12, 1, 6, 124, 0, 0, -1}, at("2024-07-01T12:00:00+02:00")},
		{"winter", [10]int32{0, 0, 12, 1, 0, 124, 0, 0, -1}, at("2024-01-01T12:00:00+01:00")},
		{"twice, daylight", [10]int32{0, 30, 2, 27, 9, 124, 0, 0, 1}, at("2024-10-27T02:30:00+02:00")},
		{"twice, standard", [10]int32{0, 30, 2, 27, 9, 124, 0, 0, 0}, at("2024-10-27T02:30:00+01:00")},
		{"twice, who knows", [10]int32{0, 30, 2, 27, 9, 124, 0, 0, -1}, at("2024-10-27T02:30:00+02:00")},
		{"never", [10]int32{0, 30, 2, 31, 2, 124, 0, 0, -1}, at("2024-03-31T03:30:00+02:00")},
		{"winter, read as daylight", [10]int32{0, 0, 12, 1, 0, 124, 0, 0, 1}, at("2024-01-01T12:00:00+02:00")},
		{"summer, read as standard", [10]int32{0, 0, 12, 1, 6, 124, 0, 0, 0}, at("2024-07-01T12:00:00+01:00")},
		{"fields carry", [10]int32{90, 0, 25, 0, 12, 123, 0, 0, -1}, at("2024-01-01T01:01:30+01:00")},
		{"before 1970", [10]int32{0, 0, 0, 1, 0, 0, 0, 0, -1}, at("1900-01-01T00:00:00+01:00")},
	} {
		k.putTM(c.tm)
		if got := k.call("_mktime_js", tmAddr); got != c.want {
			t.Errorf("%s: mktime = %d, want %d (%v)", c.name, got, c.want, time.Unix(got, 0).In(berlin))
		}
		if got, want := k.tm(), fields(time.Unix(c.want, 0).In(berlin)); got != want {
			t.Errorf("%s: fields %v, want %v", c.name, got, want)
		}
	}
	const last = math.MaxInt32 - 1900
	k.putTM([10]int32{0, 0, 0, 1, 0, last, 0, 0, -1})
	if got := k.call("_mktime_js", tmAddr); got != time.Date(last+1900, 1, 1, 0, 0, 0, 0, berlin).Unix() {
		t.Errorf("last year: %d", got)
	}
	k.putTM([10]int32{0, 0, 0, 1, 12, last, 0, 0, -1})
	if got := k.call("_mktime_js", tmAddr); got != -1 {
		t.Errorf("past the last year: %d, want -1", got)
	}
	if got := k.call("_mktime_js", memorySize-10); got != -1 {
		t.Errorf("outside of the memory: %d, want -1", got)
	}
}

func TestGmtime(t *testing.T) {
	k := newKernel(t, Config{Location: zone(t, "Asia/Tokyo")})
	for _, sec := range []int64{0, -1, 1e9, 951827696, -62135596800, 253402300799, -1 << 40} {
		k.mask()
		k.call("_gmtime_js", sec, tmAddr)
		k.wantMemory(tmAddr+36, "\x00\x00\x00\x00????") // the zone is the guest's
		want := fields(time.Unix(sec, 0).UTC())
		if got := k.tm(); [9]int32(got[:9]) != [9]int32(want[:9]) {
			t.Errorf("gmtime(%d) = %v, want %v", sec, got, want)
		}
		if back := k.call("_timegm_js", tmAddr); back != sec {
			t.Errorf("timegm(gmtime(%d)) = %d", sec, back)
		}
	}
	for sec, year := range map[int64]int32{math.MaxInt64: math.MaxInt32 - 1900, math.MinInt64: math.MinInt32} {
		if k.call("_gmtime_js", sec, tmAddr); k.tm()[5] != year {
			t.Errorf("gmtime(%d) is in year %d, want %d", sec, k.tm()[5], year)
		}
	}
}

func TestTzset(t *testing.T) {
	now := func() time.Time { return time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		zone, std, dst string
		timezone       int32
		daylight       uint32
	}{
		{"UTC", "UTC", "UTC", 0, 0},
		{"Europe/Berlin", "CET", "CEST", -3600, 1},
		{"Australia/Sydney", "AEST", "AEDT", -36000, 1},
		{"Asia/Kolkata", "IST", "IST", -19800, 0},
		{"America/St_Johns", "NST", "NDT", 12600, 1},
	} {
		k := newKernel(t, Config{Location: zone(t, c.zone), Now: now})
		k.call("_tzset_js", 0x100, 0x104, 0x200, 0x300)
		if got := int32(k.word(0x100)); got != c.timezone || k.word(0x104) != c.daylight {
			t.Errorf("%s: timezone %d daylight %d, want %d %d", c.zone, got, k.word(0x104), c.timezone, c.daylight)
		}
		k.wantMemory(0x200, c.std+"\x00?")
		k.wantMemory(0x300, c.dst+"\x00?")
	}
}
