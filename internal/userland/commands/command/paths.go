package command

import (
	"path"
	"strings"

	"coderunner/internal/machine/abi"
)

// Canonical resolves symbolic links. Components that are not there stay; with
// exist set the result is then "".
func (c *Call) Canonical(name string, exist bool) string {
	resolved := "/"
	rest := strings.Split(c.Abs(name), "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			resolved = path.Dir(resolved)
			continue
		}
		next := Join(resolved, part)
		n, e := c.FS.Lookup(nil, next, false)
		if e != abi.OK {
			if exist {
				return ""
			}
			resolved = next
			continue
		}
		if n.Type() == abi.S_IFLNK {
			target, _ := c.FS.Readlink(n)
			if links++; links > 40 {
				return ""
			}
			if strings.HasPrefix(target, "/") {
				resolved = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		resolved = next
	}
	return resolved
}

// MaxDepth bounds the recursion into directories; paths end before.
const MaxDepth = 4096

// Real is the path of a file without symbolic links.
func (c *Call) Real(name string) string {
	n, e := c.Lookup(name, true)
	if e != abi.OK {
		return ""
	}
	return c.FS.NameOf(n)
}
