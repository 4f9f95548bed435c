package emscripten

import "coderunner/internal/machine/abi"

// progname is argv[0].
const progname = "python"

// doEnvironSizesGet is environ_sizes_get(*count, *bytes).
func doEnvironSizesGet(c call) abi.Errno {
	size := 0
	for _, s := range c.p.env {
		size += len(s) + 1
	}
	return fault(c.mem.PutUint32(c.u32(0), uint32(len(c.p.env))) && c.mem.PutUint32(c.u32(1), uint32(size)))
}

// doEnvironGet is environ_get(char **environ, char *buf): the guest has made
// room as environ_sizes_get said.
//
//	environ ─> [ptr 0][ptr 1]…      buf ─> "A=1\0B=2\0…"
func doEnvironGet(c call) abi.Errno {
	environ, buf := c.u32(0), c.u32(1)
	for _, s := range c.p.env {
		n, ok := c.mem.PutCString(buf, uint32(len(s))+1, s)
		if !ok || !c.mem.PutUint32(environ, buf) {
			return abi.EFAULT
		}
		environ += 4
		buf += n + 1
	}
	return abi.OK
}

func doGetProgname(c call) { c.mem.PutCString(c.u32(0), c.u32(1), progname) }
