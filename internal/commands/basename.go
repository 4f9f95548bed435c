package commands

import (
	"strings"
)

func basename(c *call) int {
	o, status := c.options("+ a,multiple s,suffix= z,zero")
	if o == nil {
		return status
	}
	names, suffix := o.args, o.value("s", "")
	switch {
	case len(names) == 0:
		return c.missing(o)
	case o.on("a") || o.on("s"):
	case len(names) > 2:
		return c.extra(names[2])
	case len(names) == 2:
		names, suffix = names[:1], names[1]
	}
	for _, n := range names {
		b := base(n)
		if t := strings.TrimSuffix(b, suffix); t != "" {
			b = t
		}
		c.print(b)
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	return 0
}

// base is the last component of a path, as basename has it.
func base(name string) string {
	t := strings.TrimRight(name, "/")
	if t == "" && name != "" {
		return "/"
	}
	return t[strings.LastIndexByte(t, '/')+1:]
}

func dirname(c *call) int {
	o, status := c.options("z,zero")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		return c.missing(o)
	}
	for _, n := range o.args {
		c.print(dir(n))
		c.out.WriteByte(lineEnd(o.on("z")))
	}
	return 0
}

// dir is all but the last component of a path, as dirname has it.
func dir(name string) string {
	t := strings.TrimRight(name, "/")
	at := strings.LastIndexByte(t, '/')
	switch {
	case t == "" && name != "":
		return "/"
	case at < 0:
		return "."
	}
	if t = strings.TrimRight(t[:at], "/"); t == "" {
		return "/"
	}
	return t
}
