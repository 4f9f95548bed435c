package system

import (
	"fmt"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Getent is getent for the users, groups and hosts of the machine's own files.
func Getent(c *command.Call) int {
	o := c.Parse("+ i,no-idn s,service= A,no-addrconfig")
	if len(o.Args) == 0 {
		return c.Usage(1, "wrong number of arguments")
	}
	database, keys := o.Args[0], o.Args[1:]
	file, separator := "/etc/"+database, ":"
	switch database {
	case "passwd", "group":
	case "hosts", "ahosts", "ahostsv4":
		file, separator = "/etc/hosts", ""
	default:
		c.Warnf("Unknown database: %s\nTry 'getent --help' for more information.\n", database)
		return 1
	}
	data, err := c.ReadFile(file)
	c.Must(err)
	if len(keys) == 0 {
		for line := range strings.Lines(string(data)) {
			c.Print(entry(strings.TrimSuffix(line, "\n"), separator, database))
		}
		return c.Status
	}
	for _, key := range keys {
		found := false
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSuffix(line, "\n"); names(line, separator, key) {
				c.Print(entry(line, separator, database))
				found = true
				break
			}
		}
		if !found {
			c.Status = 2
		}
	}
	return c.Status
}

// names reports whether a line is that of a name, an id or an address.
func names(line, separator, key string) bool {
	if separator == "" {
		return slices.Contains(strings.Fields(line), key)
	}
	fields := strings.Split(line, separator)
	return fields[0] == key || len(fields) > 2 && fields[2] == key
}

// entry returns a line as getent prints it.
func entry(line, separator, database string) string {
	fields := strings.Fields(line)
	switch {
	case separator != "" || len(fields) < 2:
		return line + "\n"
	case database == "hosts":
		return fmt.Sprintf("%-15s %s\n", fields[0], strings.Join(fields[1:], " "))
	}
	return fmt.Sprintf("%-15s STREAM %s\n%-15s DGRAM  \n%-15s RAW    \n", fields[0], fields[1], fields[0], fields[0])
}
