package clock

import (
	"strconv"
	"strings"
	"time"
)

// dateParser reads the dates of GNU's -d: a date and a time in most notations, a
// zone, and relative items such as "2 days ago" and "next month".
type dateParser struct {
	words               []string
	t                   time.Time
	zone                *time.Location
	hasTime             bool
	hasDate             bool
	hasYear             bool // the date has one
	weekday             int  // wanted, -1 for none
	nth                 int
	years, months, days int
	seconds             int64
}

// ParseDate reads a time as date -d does.
func ParseDate(s string, zone *time.Location) (time.Time, bool) {
	if quoted, ok := strings.CutPrefix(strings.TrimSpace(s), `TZ="`); ok {
		if name, rest, ok := strings.Cut(quoted, `"`); ok {
			zone, s = Zone(name), rest
		}
	}
	p := &dateParser{zone: zone, t: time.Now().In(zone), weekday: -1}
	s = strings.ToLower(strings.TrimSpace(s))
	if strings.HasPrefix(s, "@") {
		whole, part, _ := strings.Cut(s[1:], ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		nanos, _ := strconv.Atoi((part + "000000000")[:9])
		return time.Unix(n, int64(nanos)), err == nil
	}
	p.words = dateWords(s)
	for len(p.words) > 0 {
		if !p.item() {
			return time.Time{}, false
		}
	}
	if (p.hasDate || p.weekday >= 0 || s == "") && !p.hasTime {
		p.t = time.Date(p.t.Year(), p.t.Month(), p.t.Day(), 0, 0, 0, 0, p.zone)
	}
	if p.weekday >= 0 && !p.hasDate { // a date has its own
		ahead := (p.weekday - int(p.t.Weekday()) + 7) % 7
		n := p.nth
		if n > 0 && ahead > 0 {
			n--
		}
		p.t = p.t.AddDate(0, 0, ahead+7*n)
	}
	p.t = p.t.AddDate(p.years, p.months, p.days)
	p.t = time.Unix(p.t.Unix()+p.seconds, int64(p.t.Nanosecond())).In(p.zone) // a Duration ends at 292 years
	return p.t, p.t.Year() > -10000 && p.t.Year() < 1<<31
}

// dateWords splits at blanks and commas, between a number and a unit, and a date and its zone.
func dateWords(s string) (words []string) {
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == ',' }) {
		if end := strings.IndexFunc(strings.TrimLeft(w, "+-"), func(r rune) bool { return r >= 'a' && r <= 'z' }); end > 0 && strings.Trim(w, "+-0123456789abcdefghijklmnopqrstuvwxyz") == "" && !strings.Contains(w[1:], "-") {
			at := len(w) - len(strings.TrimLeft(w, "+-")) + end
			if unit := w[at:]; dateUnits[strings.TrimSuffix(unit, "s")] != "" {
				words = append(words, w[:at], unit)
				continue
			}
		}
		if day, zone, ok := zoned(w); ok {
			words = append(words, day, zone)
			continue
		}
		if n := len(words); n > 0 && (words[n-1] == "+" || words[n-1] == "-") {
			words[n-1] += w
			continue
		}
		words = append(words, w)
	}
	return words
}

// zoned splits the zone off a date without a time: 2026-01-31Z.
func zoned(w string) (day, zone string, ok bool) {
	day = strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
	zone = w[len(day):]
	ok = strings.Count(day, "-") == 2 && (zone == "z" || zone == "utc" || zone == "gmt") && !strings.Contains(day, ":")
	return day, zone, ok
}

var dateUnits = map[string]string{"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d", "week": "w", "fortnight": "f", "month": "M", "year": "y"}

// dateZones are zones by their abbreviations, as GNU's parse_datetime has them, in
// hours. One in parentheses or a country's own needs TZ.
var dateZones = map[string]float64{
	"ut": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "met": 1, "mest": 2, "eet": 2, "eest": 3, "msk": 3, "msd": 4,
	"ist": 5.5, "sgt": 8, "jst": 9, "kst": 9, "nzst": 12, "nzdt": 13, "brt": -3, "clt": -4, "ast": -4, "adt": -3, "est": -5, "edt": -4,
	"cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10,
}

var dateOrdinals = map[string]int{"last": -1, "this": 0, "next": 1, "first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "a": 1, "an": 1}

// item reads one item.
func (p *dateParser) item() bool {
	w := p.words[0]
	p.words = p.words[1:]
	switch w {
	case "now", "today", "at", "on", "and", "this":
		return true
	case "yesterday":
		p.days--
		return true
	case "tomorrow":
		p.days++
		return true
	case "noon":
		return p.clock(12, 0, 0, 0)
	case "midnight":
		return p.clock(0, 0, 0, 0)
	case "utc", "gmt", "z":
		return p.in(time.UTC)
	}
	if hours, ok := dateZones[w]; ok {
		return p.in(time.FixedZone(strings.ToUpper(w), int(hours*3600)))
	}
	if n, ok := dateOrdinals[w]; ok && len(p.words) > 0 {
		if day, ok := weekday(p.words[0]); ok {
			p.words = p.words[1:]
			p.weekday, p.nth = day, n
			return true
		}
		return p.relative(n)
	}
	if day, ok := weekday(w); ok {
		p.weekday = day
		return true
	}
	if n, err := strconv.Atoi(w); err == nil && len(p.words) > 0 {
		if dateUnits[strings.TrimSuffix(p.words[0], "s")] != "" && (w[0] == '+' || w[0] == '-' || len(w) < 8) {
			return p.relative(n)
		}
	}
	if dateUnits[strings.TrimSuffix(w, "s")] != "" {
		p.words = append([]string{w}, p.words...)
		return p.relative(1)
	}
	return p.absolute(w)
}

func weekday(w string) (int, bool) {
	for i, d := range []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"} {
		if len(w) >= 3 && strings.HasPrefix(d, strings.TrimSuffix(w, ".")) {
			return i, true
		}
	}
	return 0, false
}

// relative reads a unit and "ago".
func (p *dateParser) relative(n int) bool {
	if len(p.words) == 0 {
		return false
	}
	unit := dateUnits[strings.TrimSuffix(p.words[0], "s")]
	p.words = p.words[1:]
	if len(p.words) > 0 && p.words[0] == "ago" {
		n, p.words = -n, p.words[1:]
	}
	if n > 1<<40 || n < -1<<40 {
		return false
	}
	switch unit {
	case "s":
		p.seconds += int64(n)
	case "m":
		p.seconds += 60 * int64(n)
	case "h":
		p.seconds += 3600 * int64(n)
	case "d":
		p.days += n
	case "w":
		p.days += 7 * n
	case "f":
		p.days += 14 * n
	case "M":
		p.months += n
	case "y":
		p.years += n
	}
	return unit != ""
}

func (p *dateParser) clock(h, m, s, ns int) bool {
	p.t = time.Date(p.t.Year(), p.t.Month(), p.t.Day(), h, m, s, ns, p.zone)
	p.hasTime = true
	return true
}

func (p *dateParser) in(zone *time.Location) bool {
	t := p.t
	p.zone = zone
	p.t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	return true
}

func (p *dateParser) day(t time.Time) bool {
	p.t = time.Date(t.Year(), t.Month(), t.Day(), p.t.Hour(), p.t.Minute(), p.t.Second(), p.t.Nanosecond(), p.zone)
	p.hasDate = true
	return true
}

// absolute reads a date, a time or both.
func (p *dateParser) absolute(w string) bool {
	if day, clock, ok := strings.Cut(w, "t"); ok && strings.Count(day, "-") == 2 {
		p.words = append([]string{clock}, p.words...)
		w = day
	}
	if len(w) > 0 && (w[0] == '+' || w[0] == '-') && len(w) >= 3 {
		for _, layout := range []string{"-0700", "-07:00", "-07"} {
			if t, err := time.Parse(layout, w); err == nil {
				return p.in(t.Location())
			}
		}
	}
	if strings.Contains(w, ":") {
		return p.timeOfDay(w)
	}
	for _, layout := range []string{"2006-1-2", "1/2/2006", "1/2/06", "2006/1/2", "20060102", "2-jan-2006", "2-jan-06", "2jan2006"} {
		if t, err := time.Parse(layout, w); err == nil {
			p.hasYear = true
			return p.day(t)
		}
	}
	if t, err := time.Parse("1/2", w); err == nil {
		return p.day(time.Date(p.t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, p.zone))
	}
	for suffix, add := range map[string]int{"am": 0, "pm": 12} {
		if n, err := strconv.Atoi(strings.TrimSuffix(w, suffix)); err == nil && strings.HasSuffix(w, suffix) && n >= 1 && n <= 12 {
			return p.clock(n%12+add, 0, 0, 0)
		}
		if n, err := strconv.Atoi(w); err == nil && len(p.words) > 0 && p.words[0] == suffix && n >= 1 && n <= 12 {
			p.words = p.words[1:]
			return p.clock(n%12+add, 0, 0, 0)
		}
	}
	return p.monthName(w)
}

// monthName reads "mar 5", "5 mar" and either with a year.
func (p *dateParser) monthName(w string) bool {
	name := func(w string) time.Month {
		if w = strings.TrimSuffix(w, "."); len(w) < 3 {
			return 0
		}
		for m := time.January; m <= time.December; m++ {
			if strings.HasPrefix(strings.ToLower(m.String()), w) || w == "sept" && m == 9 {
				return m
			}
		}
		return 0
	}
	number := func() int {
		if len(p.words) > 0 {
			if n, err := strconv.Atoi(strings.TrimRight(p.words[0], "stndrh")); err == nil && n > 0 {
				p.words = p.words[1:]
				return n
			}
		}
		return 0
	}
	month, day := name(w), 0
	if month > 0 {
		day = max(1, number())
	} else if n, err := strconv.Atoi(strings.TrimRight(w, "stndrh")); err == nil && len(p.words) > 0 && name(p.words[0]) > 0 {
		month, day = name(p.words[0]), n
		p.words = p.words[1:]
	}
	if month == 0 || day > 31 {
		return p.bareYear(w)
	}
	year := p.t.Year()
	if len(p.words) > 0 && len(p.words[0]) == 4 {
		if n := number(); n > 0 {
			year, p.hasYear = n, true
		}
	}
	return p.day(time.Date(year, month, day, 0, 0, 0, 0, p.zone))
}

// bareYear takes four digits after a date without a year as that, and elsewhere as
// a time, of which two digits are the hour.
func (p *dateParser) bareYear(w string) bool {
	n, err := strconv.Atoi(w)
	if err == nil && len(w) <= 2 && !p.hasTime {
		return n >= 0 && n < 24 && p.clock(n, 0, 0, 0)
	}
	if err != nil || len(w) != 4 {
		return false
	}
	if p.hasDate && !p.hasYear {
		p.hasYear = true
		return p.day(time.Date(n, p.t.Month(), p.t.Day(), 0, 0, 0, 0, p.zone))
	}
	return n/100 < 24 && n%100 < 60 && p.clock(n/100, n%100, 0, 0)
}

func (p *dateParser) timeOfDay(w string) bool {
	zone := ""
	if at := strings.LastIndexAny(w, "+-"); at > 0 {
		w, zone = w[:at], w[at:]
	} else if strings.HasSuffix(w, "z") {
		w, zone = w[:len(w)-1], "+0000"
	}
	if len(p.words) > 0 && (p.words[0] == "am" || p.words[0] == "pm") {
		w += p.words[0]
		p.words = p.words[1:]
	}
	for _, layout := range []string{"15:04:05.999999999", "15:04:05", "15:04", "3:04:05pm", "3:04pm"} {
		if t, err := time.Parse(layout, strings.ReplaceAll(w, ",", ".")); err == nil {
			p.clock(t.Hour(), t.Minute(), t.Second(), t.Nanosecond())
			if zone != "" {
				p.words = append([]string{zone}, p.words...)
			}
			return true
		}
	}
	return false
}

// TouchTime reads the argument of touch -t: [[CC]YY]MMDDhhmm[.ss].
func TouchTime(s string, zone *time.Location) (time.Time, bool) {
	main, seconds, has := strings.Cut(s, ".")
	layout := map[int]string{8: "01021504", 10: "0601021504", 12: "200601021504"}[len(main)]
	if layout == "" {
		return time.Time{}, false
	}
	if has {
		layout, main = layout+"05", main+seconds
	}
	t, err := time.ParseInLocation(layout, main, zone)
	if layout[:2] == "01" {
		t = t.AddDate(time.Now().Year(), 0, 0)
	}
	return t, err == nil
}
