package commands

import (
	"strconv"
	"strings"
	"time"

	"coderunner/pyodide/abi"
)

func date(c *call) int {
	o, status := c.options("d,date= f,file= I,iso-8601=? R,rfc-email,rfc-822 rfc-3339= r,reference= u,utc,universal s,set= debug")
	if o == nil {
		return status
	}
	zone := c.zone()
	if o.on("u") {
		zone = time.UTC
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	for _, a := range o.args {
		if !strings.HasPrefix(a, "+") {
			return c.die(1, "invalid date %s", quote(a))
		}
		format = a[1:]
	}
	switch iso := o.value("I", ""); {
	case o.on("s"):
		return c.die(1, "cannot set date: Operation not permitted")
	case o.on("R"):
		format = "%a, %d %b %Y %H:%M:%S %z"
	case o.on("I"):
		format = map[string]string{"": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z",
			"seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z"}[iso]
	case o.on("rfc-3339"):
		format = map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}[o.value("rfc-3339", "")]
	}
	if format == "" && (o.on("I") || o.on("rfc-3339")) {
		return c.usage(1, "invalid argument %s for '--iso-8601'", quote(o.value("I", o.value("rfc-3339", ""))))
	}
	t := time.Now()
	switch {
	case o.on("r"):
		st, err := c.stat(o.value("r", ""))
		if err != nil {
			return c.die(1, "%s: %s", o.value("r", ""), text(err))
		}
		t = st.Mtime.Time()
	case o.on("f"):
		data, err := c.readFile(o.value("f", ""))
		if err != nil {
			return c.die(1, "%s: %s", o.value("f", ""), text(err))
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if t, ok := parseDate(line, zone); ok {
				c.printf("%s\n", strftime(format, t.In(zone)))
			} else {
				c.fail("invalid date %s", quote(line))
			}
		}
		return c.status
	case o.on("d"):
		var ok bool
		if t, ok = parseDate(o.value("d", ""), zone); !ok {
			return c.die(1, "invalid date %s", quote(o.value("d", "")))
		}
	}
	c.printf("%s\n", strftime(format, t.In(zone)))
	return 0
}

// touchTime reads the argument of touch -t: [[CC]YY]MMDDhhmm[.ss].
func touchTime(s string, zone *time.Location) (time.Time, bool) {
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

// dateParser reads the dates of GNU's -d: a date and a time in most notations, a
// zone, and relative items such as "2 days ago" and "next month".
type dateParser struct {
	words               []string
	t                   time.Time
	zone                *time.Location
	hasTime             bool
	hasDate             bool
	weekday             int // wanted, -1 for none
	nth                 int
	years, months, days int
	offset              time.Duration
}

func parseDate(s string, zone *time.Location) (time.Time, bool) {
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
	if p.weekday >= 0 {
		ahead := (p.weekday - int(p.t.Weekday()) + 7) % 7
		n := p.nth
		if n > 0 && ahead > 0 {
			n--
		}
		p.t = p.t.AddDate(0, 0, ahead+7*n)
	}
	p.t = p.t.AddDate(p.years, p.months, p.days).Add(p.offset)
	return p.t, p.t.Year() > -10000 && p.t.Year() < 1<<31
}

// dateWords splits at blanks and commas, and between a number and a unit.
func dateWords(s string) (words []string) {
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == ',' }) {
		if end := strings.IndexFunc(strings.TrimLeft(w, "+-"), func(r rune) bool { return r >= 'a' && r <= 'z' }); end > 0 && strings.Trim(w, "+-0123456789abcdefghijklmnopqrstuvwxyz") == "" && !strings.Contains(w[1:], "-") {
			at := len(w) - len(strings.TrimLeft(w, "+-")) + end
			if unit := w[at:]; dateUnits[strings.TrimSuffix(unit, "s")] != "" {
				words = append(words, w[:at], unit)
				continue
			}
		}
		if n := len(words); n > 0 && (words[n-1] == "+" || words[n-1] == "-") {
			words[n-1] += w
			continue
		}
		words = append(words, w)
	}
	return words
}

var dateUnits = map[string]string{"second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d", "week": "w", "fortnight": "f", "month": "M", "year": "y"}

var dateOrdinals = map[string]int{"last": -1, "this": 0, "next": 1, "first": 1, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "a": 1, "an": 1}

// item reads one item.
func (p *dateParser) item() bool {
	w := p.words[0]
	p.words = p.words[1:]
	switch w {
	case "now", "today", "at", "on", "and", "this":
		if w == "today" || w == "now" {
			return true
		}
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
		p.offset += time.Duration(n) * time.Second
	case "m":
		p.offset += time.Duration(n) * time.Minute
	case "h":
		p.offset += time.Duration(n) * time.Hour
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
	} else if n, err := strconv.Atoi(strings.TrimRight(w, "stndrh")); err == nil && len(p.words) > 0 {
		month, day = name(p.words[0]), n
		p.words = p.words[1:]
	}
	if month == 0 || day > 31 {
		return p.bareYear(w)
	}
	year := p.t.Year()
	if len(p.words) > 0 && len(p.words[0]) == 4 {
		if n := number(); n > 0 {
			year = n
		}
	}
	return p.day(time.Date(year, month, day, 0, 0, 0, 0, p.zone))
}

// bareYear takes a number after a date as its year, and four digits elsewhere as
// a time.
func (p *dateParser) bareYear(w string) bool {
	n, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 {
		return false
	}
	if p.hasDate {
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

func stat(c *call) int {
	o, status := c.options("L,dereference f,file-system c,format= printf= t,terse !Z,context cached=")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	format := o.value("c", "")
	switch {
	case o.on("printf"):
		format = o.value("printf", "")
	case o.on("t"):
		format = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n"
	case o.on("c"):
		format += "\n"
	default:
		format = "  File: %#N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-11i Links: %h\n" +
			"Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n"
	}
	for _, name := range o.args {
		st, err := c.statOf(name, o.on("L"))
		if err != nil {
			c.fail("cannot statx %s: %s", quote(name), text(err))
			continue
		}
		c.statFormat(format, name, &st, o.on("printf"))
	}
	return c.status
}

// statFormat prints what a format of stat asks for.
func (c *call) statFormat(format, name string, st *abi.Stat, escapes bool) {
	for i := 0; i < len(format); i++ {
		if format[i] == '\\' && escapes {
			text, n, _ := cEscape(format[i:], false)
			c.print(text)
			i += n - 1
			continue
		}
		if format[i] != '%' || i+1 >= len(format) {
			c.out.WriteByte(format[i])
			continue
		}
		if format[i+1] == '%' {
			c.print("%")
			i++
			continue
		}
		source := format[i:]
		modifier := byte(0)
		if at := strings.IndexAny(source, "HL"); at >= 1 && strings.Trim(source[1:at], "-+ #0123456789.") == "" && at+1 < len(source) && strings.IndexByte("dr", source[at+1]) >= 0 {
			modifier = source[at]
			source = source[:at] + source[at+1:]
			i++
		}
		d, rest, ok := nextDirective(source)
		if !ok {
			c.print(source)
			return
		}
		i += len(source) - len(rest) - 1
		c.print(c.statField(d, modifier, name, st))
	}
}

func (c *call) statField(d directive, modifier byte, name string, st *abi.Stat) string {
	number := func(n uint64) string {
		d.verb = 'u'
		return d.formatUint(n)
	}
	stamp := func(t abi.Timespec) string {
		return d.formatString(t.Time().In(c.zone()).Format("2006-01-02 15:04:05.000000000 -0700"))
	}
	switch d.verb {
	case 'a':
		d.verb = 'o'
		return d.formatUint(uint64(st.Mode & 0o7777))
	case 'A':
		return d.formatString(modeString(st.Mode))
	case 'b':
		return number(uint64(st.Blocks))
	case 'B':
		return number(512)
	case 'd':
		switch modifier {
		case 'H':
			return number(uint64(st.Dev >> 8))
		case 'L':
			return number(uint64(st.Dev & 0xff))
		}
		return number(uint64(st.Dev))
	case 'D':
		return strconv.FormatUint(uint64(st.Dev), 16)
	case 'f':
		return strconv.FormatUint(uint64(st.Mode), 16)
	case 'F':
		return d.formatString(kindOf(st))
	case 'g':
		return number(uint64(st.GID))
	case 'G':
		return d.formatString(userName(st.GID, false))
	case 'u':
		return number(uint64(st.UID))
	case 'U':
		return d.formatString(userName(st.UID, false))
	case 'h':
		return number(uint64(st.Nlink))
	case 'i':
		return number(st.Ino)
	case 'm':
		return d.formatString("/")
	case 'n':
		return d.formatString(name)
	case 'N':
		q := quote
		if d.flags == "#" { // of the default format
			d.flags, q = "", func(s string) string { return s }
		}
		s := q(name)
		if n, e := c.lookup(name, false); e == abi.OK && n.Type() == abi.S_IFLNK {
			target, _ := c.fs.Readlink(n)
			s += " -> " + q(target)
		}
		return d.formatString(s)
	case 'o':
		return number(uint64(st.Blksize))
	case 's':
		return number(uint64(st.Size))
	case 't', 'T', 'r':
		return "0"
	case 'w':
		return "-"
	case 'W':
		return "0"
	case 'x':
		return stamp(st.Atime)
	case 'X':
		return number(uint64(st.Atime.Sec))
	case 'y':
		return stamp(st.Mtime)
	case 'Y':
		return number(uint64(st.Mtime.Sec))
	case 'z':
		return stamp(st.Ctime)
	case 'Z':
		return number(uint64(st.Ctime.Sec))
	}
	return "?"
}

// kindOf names the type of a file.
func kindOf(st *abi.Stat) string {
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return "directory"
	case abi.S_IFLNK:
		return "symbolic link"
	case abi.S_IFIFO:
		return "fifo"
	case abi.S_IFCHR:
		return "character special file"
	case abi.S_IFSOCK:
		return "socket"
	}
	if st.Size == 0 {
		return "regular empty file"
	}
	return "regular file"
}
