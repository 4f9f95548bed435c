package text

import (
	"bytes"

	"coderunner/internal/userland/commands/command"
)

// Sponge reads all its input before it opens the file, which the input may come from.
func Sponge(c *command.Call) int {
	o := c.Parse("a", 0, 1)
	data, err := c.ReadAll(c.In())
	c.Must(err)
	if len(o.Args) == 0 {
		c.Print(string(data))
		return c.Status
	}
	f, err := c.CreateOr(o.Args[0], o.On("a"))
	c.Need(err, 1, "error opening output file")
	defer f.Close()
	if _, err := bytes.NewReader(data).WriteTo(f); err != nil {
		return c.Die(1, "error writing buffer to output file: %s", command.Text(err))
	}
	return c.Status
}
