package commands

import (
	"strings"
	"time"

	"coderunner/internal/calendar"
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
				c.printf("%s\n", calendar.Format(format, t.In(zone)))
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
	c.printf("%s\n", calendar.Format(format, t.In(zone)))
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
