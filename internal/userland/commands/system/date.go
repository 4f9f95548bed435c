package system

import (
	"slices"
	"strings"
	"time"

	"coderunner/internal/machine/clock"
	"coderunner/internal/userland/commands/command"
)

// Date prints the time.
func Date(c *command.Call) int {
	o := c.Parse("d,date= f,file= I,iso-8601=? R,rfc-email,rfc-822 rfc-3339= r,reference= u,utc,universal s,set= debug")
	zone := c.Zone()
	if o.On("u") {
		zone = time.UTC
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	if len(o.Args) > 1 {
		return c.Extra(o.Args[1])
	}
	for _, a := range o.Args {
		if !strings.HasPrefix(a, "+") {
			return c.Die(1, "invalid date %s", command.Quote(a))
		}
		format = a[1:]
	}
	precise := func(name string, all ...string) string {
		given := o.Value(name, "")
		if at := slices.IndexFunc(all, func(full string) bool { return given != "" && strings.HasPrefix(full, given) }); at >= 0 {
			return all[at]
		}
		return given
	}
	switch iso := precise("I", "hours", "minutes", "date", "seconds", "ns"); {
	case o.On("s"):
		return c.Die(1, "cannot set date: Operation not permitted")
	case o.On("R"):
		format = "%a, %d %b %Y %H:%M:%S %z"
	case o.On("I"):
		format = map[string]string{"": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z",
			"seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z"}[iso]
	case o.On("rfc-3339"):
		format = map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}[precise("rfc-3339", "date", "seconds", "ns")]
	}
	if format == "" && (o.On("I") || o.On("rfc-3339")) {
		return c.Usage(1, "invalid argument %s for '--iso-8601'", command.Quote(o.Value("I", o.Value("rfc-3339", ""))))
	}
	t := time.Now()
	switch {
	case o.On("r"):
		st, err := c.Stat(o.Value("r", ""))
		c.Need(err, 1, "%s", o.Value("r", ""))
		t = st.Mtime.Time()
	case o.On("f"):
		data, err := c.ReadFile(o.Value("f", ""))
		c.Need(err, 1, "%s", o.Value("f", ""))
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if t, ok := clock.ParseDate(line, zone); ok {
				c.Printf("%s\n", clock.Format(format, t.In(zone)))
			} else {
				c.Fail("invalid date %s", command.Quote(line))
			}
		}
		return c.Status
	case o.On("d"):
		var ok bool
		if t, ok = clock.ParseDate(o.Value("d", ""), zone); !ok {
			return c.Die(1, "invalid date %s", command.Quote(o.Value("d", "")))
		}
	}
	c.Printf("%s\n", clock.Format(format, t.In(zone)))
	return 0
}
