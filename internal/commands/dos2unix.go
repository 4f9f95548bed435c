package commands

import (
	"bytes"
)

// dos2unix and unix2dos change line ends in place.
func dos2unix(c *call) int {
	o, status := c.options("q,quiet f,force !k,keepdate n,newfile o,oldfile")
	if o == nil {
		return status
	}
	convert := func(data []byte) []byte {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		if c.name == "unix2dos" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		return data
	}
	if len(o.args) == 0 {
		data, err := c.readAll(c.in())
		c.failed("-", err)
		c.out.Write(convert(data))
		return c.status
	}
	names := o.args
	if o.on("n") && len(names) == 2 {
		names = names[:1]
	}
	for _, n := range names {
		data, err := c.readFile(n)
		to := n
		if o.on("n") && len(o.args) == 2 {
			to = o.args[1]
		}
		if err == nil {
			var f *file
			if f, err = c.create(to); err == nil {
				_, err = f.Write(convert(data))
				f.Close()
			}
		}
		if err != nil {
			c.failed(n, err)
			continue
		}
		if !o.on("q") {
			format := map[string]string{"dos2unix": "Unix", "unix2dos": "DOS"}[c.name]
			c.warnf("%s: converting file %s to %s format...\n", c.name, n, format)
		}
	}
	return c.status
}
