package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/preview1"
)

// progname is argv[0].
const progname = "python"

// doEnvironSizesGet is environ_sizes_get(*count, *bytes).
func doEnvironSizesGet(c call) abi.Errno {
	return preview1.PutSizes(c.mem, c.u32(0), c.u32(1), c.p.env)
}

// doEnvironGet is environ_get(char **environ, char *buf).
func doEnvironGet(c call) abi.Errno { return preview1.PutList(c.mem, c.u32(0), c.u32(1), c.p.env) }

func doGetProgname(c call) { c.mem.PutCString(c.u32(0), c.u32(1), progname) }
