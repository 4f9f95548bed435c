package text

import (
	"bytes"

	"coderunner/internal/userland/commands/command"
)

// Dos2unix and unix2dos change line ends in place.
func Dos2unix(c *command.Call) int {
	o := c.Parse("q,quiet f,force !k,keepdate n,newfile o,oldfile")
	convert := func(data []byte) []byte {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		if c.Name == "unix2dos" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		return data
	}
	if len(o.Args) == 0 {
		data, err := c.ReadAll(c.In())
		c.Failed("-", err)
		c.Out.Write(convert(data))
		return c.Status
	}
	names := o.Args
	if o.On("n") && len(names) == 2 {
		names = names[:1]
	}
	for _, n := range names {
		data, err := c.ReadFile(n)
		to := n
		if o.On("n") && len(o.Args) == 2 {
			to = o.Args[1]
		}
		if err == nil {
			var f *command.File
			if f, err = c.Create(to); err == nil {
				_, err = f.Write(convert(data))
				f.Close()
			}
		}
		if err != nil {
			c.Failed(n, err)
			continue
		}
		if !o.On("q") {
			format := map[string]string{"dos2unix": "Unix", "unix2dos": "DOS"}[c.Name]
			c.Warnf("%s: converting file %s to %s format...\n", c.Name, n, format)
		}
	}
	return c.Status
}
