package preview1

import (
	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
	"coderunner/pyodide/hostfn"
)

// Module is the name that modules import from.
const Module = "wasi_snapshot_preview1"

// source is where all functions are described.
const source = "https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md"

// Rows are all functions of preview 1.
func Rows() hostfn.Table {
	row := func(name, sig, args string, f hostfn.Func) hostfn.Row {
		return hostfn.Row{Module: Module, Name: name, Sig: sig, Args: args, Source: source, Support: hostfn.Full, Fn: f}
	}
	partly := func(r hostfn.Row, note string) hostfn.Row {
		r.Support, r.Note = hostfn.Partial, note
		return r
	}
	return hostfn.Table{
		row("args_get", "ii:i", "argv buf", fn(func(c call) abi.Errno { return PutList(c.mem, c.u32(0), c.u32(1), c.args) })),
		row("args_sizes_get", "ii:i", "argc size", fn(func(c call) abi.Errno { return PutSizes(c.mem, c.u32(0), c.u32(1), c.args) })),
		row("environ_get", "ii:i", "environ buf", fn(func(c call) abi.Errno { return PutList(c.mem, c.u32(0), c.u32(1), c.env) })),
		row("environ_sizes_get", "ii:i", "count size", fn(func(c call) abi.Errno { return PutSizes(c.mem, c.u32(0), c.u32(1), c.env) })),
		row("clock_res_get", "ii:i", "id resolution", fn(clockResGet)),
		row("clock_time_get", "iji:i", "id precision time", fn(func(c call) abi.Errno { return c.put64(2, uint64(c.clock(c.u32(0)))) })),
		partly(row("fd_advise", "ijji:i", "fd offset length advice", fn(fdAdvise)), "checked and not followed"),
		row("fd_allocate", "ijj:i", "fd offset length", fn(func(c call) abi.Errno { return c.file(0).Allocate(int64(c.u64(1)), int64(c.u64(2))) })),
		row("fd_close", "i:i", "fd", fn(func(c call) abi.Errno { return c.closeFD(c.u32(0)) })),
		row("fd_datasync", "i:i", "fd", fn(func(c call) abi.Errno { return c.file(0).Sync() })),
		row("fd_fdstat_get", "ii:i", "fd fdstat", fn(fdFdstatGet)),
		row("fd_fdstat_set_flags", "ii:i", "fd flags", fn(func(c call) abi.Errno { c.file(0).SetFlags(fdFlags.of(c.u32(1))); return abi.OK })),
		partly(row("fd_fdstat_set_rights", "ijj:i", "fd base inheriting", fn(func(c call) abi.Errno { c.file(0); return enotsup })), "rights are not kept"),
		row("fd_filestat_get", "ii:i", "fd filestat", fn(func(c call) abi.Errno { return c.putFilestat(1, c.file(0).Stat()) })),
		row("fd_filestat_set_size", "ij:i", "fd size", fn(func(c call) abi.Errno { return c.file(0).Truncate(int64(c.u64(1))) })),
		row("fd_filestat_set_times", "ijji:i", "fd atim mtim flags", fn(func(c call) abi.Errno { return c.setTimes(c.file(0).Node(), 1) })),
		row("fd_pread", "iiiji:i", "fd iovs n offset count", fn(func(c call) abi.Errno { return c.positioned((*memfs.File).Pread) })),
		row("fd_prestat_get", "ii:i", "fd prestat", fn(fdPrestatGet)),
		row("fd_prestat_dir_name", "iii:i", "fd name n", fn(fdPrestatDirName)),
		row("fd_pwrite", "iiiji:i", "fd iovs n offset count", fn(func(c call) abi.Errno { return c.positioned((*memfs.File).Pwrite) })),
		row("fd_read", "iiii:i", "fd iovs n count", fn(fdRead)),
		row("fd_readdir", "iiiji:i", "fd buf n cookie used", fn(fdReaddir)),
		row("fd_renumber", "ii:i", "from to", fn(fdRenumber)),
		row("fd_seek", "ijii:i", "fd offset whence position", fn(func(c call) abi.Errno { return c.seek(c.u64(1), c.u32(2), 3) })),
		row("fd_sync", "i:i", "fd", fn(func(c call) abi.Errno { return c.file(0).Sync() })),
		row("fd_tell", "ii:i", "fd position", fn(func(c call) abi.Errno { return c.seek(0, abi.SEEK_CUR, 1) })),
		row("fd_write", "iiii:i", "fd iovs n count", fn(fdWrite)),
		row("path_create_directory", "iii:i", "fd path n", fn(named(func(c call, dir *memfs.Node, name string) abi.Errno { return c.fs.Mkdir(dir, name, 0o777&^c.k.Umask) }))),
		row("path_filestat_get", "iiiii:i", "fd flags path n filestat", fn(func(c call) abi.Errno { return c.putFilestat(4, c.fs.Stat(c.node(0, 2, c.u32(1)&follow == 0))) })),
		row("path_filestat_set_times", "iiiijji:i", "fd flags path n atim mtim fstflags", fn(func(c call) abi.Errno { return c.setTimes(c.node(0, 2, c.u32(1)&follow == 0), 4) })),
		row("path_link", "iiiiiii:i", "fd flags path n newfd newpath m", fn(pathLink)),
		partly(row("path_open", "iiiiijjii:i", "fd lookup path n oflags base inheriting fdflags opened", fn(pathOpen)), "rights tell how to open, and are not kept"),
		row("path_readlink", "iiiiii:i", "fd path n buf size used", fn(pathReadlink)),
		row("path_remove_directory", "iii:i", "fd path n", fn(named(func(c call, dir *memfs.Node, name string) abi.Errno { return c.fs.Rmdir(dir, name) }))),
		row("path_rename", "iiiiii:i", "fd path n newfd newpath m", fn(pathRename)),
		row("path_symlink", "iiiii:i", "target n fd path m", fn(pathSymlink)),
		row("path_unlink_file", "iii:i", "fd path n", fn(named(func(c call, dir *memfs.Node, name string) abi.Errno { return c.fs.Unlink(dir, name) }))),
		row("poll_oneoff", "iiii:i", "in out n events", fn(pollOneoff)),
		row("proc_exit", "i:", "code", procExit),
		row("proc_raise", "i:i", "signal", fn(procRaise)),
		row("sched_yield", ":i", "", fn(schedYield)),
		row("random_get", "ii:i", "buf n", fn(randomGet)),
		partly(row("sock_accept", "iii:i", "fd flags accepted", fn(notListening)), "no socket listens"),
		partly(row("sock_recv", "iiiiii:i", "fd iovs n riflags count roflags", fn(sockRecv)), "without flags"),
		row("sock_send", "iiiii:i", "fd iovs n flags count", fn(sockSend)),
		partly(row("sock_shutdown", "ii:i", "fd how", fn(notListening)), "closing ends it"),
	}
}
