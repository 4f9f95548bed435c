package preview1

import "coderunner/internal/machine/abi"

// argsGet is args_get(**argv, *buf), argsSizesGet args_sizes_get(*argc, *size); environ_get
// and environ_sizes_get are the same of the environment.
func argsGet(c call) abi.Errno         { return c.list(c.args) }
func argsSizesGet(c call) abi.Errno    { return c.sizes(c.args) }
func environGet(c call) abi.Errno      { return c.list(c.env) }
func environSizesGet(c call) abi.Errno { return c.sizes(c.env) }

func (c call) sizes(list []string) abi.Errno {
	size := 0
	for _, s := range list {
		size += len(s) + 1
	}
	ok := c.mem.PutUint32(c.u32(0), uint32(len(list)))
	return fault(ok && c.mem.PutUint32(c.u32(1), uint32(size)))
}

// list writes pointers to the strings, and the strings, each with a NUL.
func (c call) list(list []string) abi.Errno {
	at, to := uint64(c.u32(0)), uint64(c.u32(1))
	for _, s := range list {
		if at > lastAddress || to > lastAddress || !c.mem.PutUint32(uint32(at), uint32(to)) || !c.mem.Put(uint32(to), append([]byte(s), 0)) {
			return abi.EFAULT
		}
		at, to = at+4, to+uint64(len(s))+1
	}
	return abi.OK
}

// lastAddress is the end of the largest memory there is.
const lastAddress = 1<<32 - 1
