package preview1

import "coderunner/pyodide/hostfn"

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
		row("args_get", "ii:i", "argv buf", fn(argsGet)),
		row("args_sizes_get", "ii:i", "argc size", fn(argsSizesGet)),
		row("environ_get", "ii:i", "environ buf", fn(environGet)),
		row("environ_sizes_get", "ii:i", "count size", fn(environSizesGet)),
		row("clock_res_get", "ii:i", "id resolution", fn(clockResGet)),
		row("clock_time_get", "iji:i", "id precision time", fn(clockTimeGet)),
		partly(row("fd_advise", "ijji:i", "fd offset length advice", onFile(fdAdvise)), "checked and not followed"),
		row("fd_allocate", "ijj:i", "fd offset length", onFile(fdAllocate)),
		row("fd_close", "i:i", "fd", fn(fdClose)),
		row("fd_datasync", "i:i", "fd", onFile(fdSync)),
		row("fd_fdstat_get", "ii:i", "fd fdstat", onFile(fdFdstatGet)),
		row("fd_fdstat_set_flags", "ii:i", "fd flags", onFile(fdFdstatSetFlags)),
		partly(row("fd_fdstat_set_rights", "ijj:i", "fd base inheriting", onFile(fdFdstatSetRights)), "rights are not kept"),
		row("fd_filestat_get", "ii:i", "fd filestat", onFile(fdFilestatGet)),
		row("fd_filestat_set_size", "ij:i", "fd size", onFile(fdFilestatSetSize)),
		row("fd_filestat_set_times", "ijji:i", "fd atim mtim flags", onFile(fdFilestatSetTimes)),
		row("fd_pread", "iiiji:i", "fd iovs n offset count", onFile(fdPread)),
		row("fd_prestat_get", "ii:i", "fd prestat", fn(fdPrestatGet)),
		row("fd_prestat_dir_name", "iii:i", "fd name n", fn(fdPrestatDirName)),
		row("fd_pwrite", "iiiji:i", "fd iovs n offset count", onFile(fdPwrite)),
		row("fd_read", "iiii:i", "fd iovs n count", onFile(fdRead)),
		row("fd_readdir", "iiiji:i", "fd buf n cookie used", onFile(fdReaddir)),
		row("fd_renumber", "ii:i", "from to", fn(fdRenumber)),
		row("fd_seek", "ijii:i", "fd offset whence position", onFile(fdSeek)),
		row("fd_sync", "i:i", "fd", onFile(fdSync)),
		row("fd_tell", "ii:i", "fd position", onFile(fdTell)),
		row("fd_write", "iiii:i", "fd iovs n count", onFile(fdWrite)),
		row("path_create_directory", "iii:i", "fd path n", fn(onPath(0, 1, pathCreateDirectory))),
		row("path_filestat_get", "iiiii:i", "fd flags path n filestat", fn(onPath(0, 2, pathFilestatGet))),
		row("path_filestat_set_times", "iiiijji:i", "fd flags path n atim mtim fstflags", fn(onPath(0, 2, pathFilestatSetTimes))),
		row("path_link", "iiiiiii:i", "fd flags path n newfd newpath m", fn(onPath(0, 2, pathLink))),
		partly(row("path_open", "iiiiijjii:i", "fd lookup path n oflags base inheriting fdflags opened", fn(onPath(0, 2, pathOpen))), "rights tell how to open, and are not kept"),
		row("path_readlink", "iiiiii:i", "fd path n buf size used", fn(onPath(0, 1, pathReadlink))),
		row("path_remove_directory", "iii:i", "fd path n", fn(onPath(0, 1, pathRemoveDirectory))),
		row("path_rename", "iiiiii:i", "fd path n newfd newpath m", fn(onPath(0, 1, pathRename))),
		row("path_symlink", "iiiii:i", "target n fd path m", fn(onPath(2, 3, pathSymlink))),
		row("path_unlink_file", "iii:i", "fd path n", fn(onPath(0, 1, pathUnlinkFile))),
		row("poll_oneoff", "iiii:i", "in out n events", fn(pollOneoff)),
		row("proc_exit", "i:", "code", procExit),
		row("proc_raise", "i:i", "signal", fn(procRaise)),
		row("sched_yield", ":i", "", fn(schedYield)),
		row("random_get", "ii:i", "buf n", fn(randomGet)),
		partly(row("sock_accept", "iii:i", "fd flags accepted", onFile(notListening)), "no socket listens"),
		partly(row("sock_recv", "iiiiii:i", "fd iovs n riflags count roflags", onFile(sockRecv)), "without flags"),
		row("sock_send", "iiiii:i", "fd iovs n flags count", onFile(sockSend)),
		partly(row("sock_shutdown", "ii:i", "fd how", onFile(notListening)), "closing ends it"),
	}
}
