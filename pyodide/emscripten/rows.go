package emscripten

import (
	"coderunner/internal/machine/abi"
	"coderunner/pyodide/hostfn"
)

const (
	full    = hostfn.Full
	partial = hostfn.Partial
	absent  = hostfn.Absent
)

// Rows returns the functions of this package: system calls, and what Emscripten's
// and CPython's C code wants of its JavaScript. The rest of the pinned module's
// imports are in package jsffi.
func Rows() hostfn.Table {
	var t hostfn.Table
	t = append(t, wasiRows()...)
	t = append(t, fileRows()...)
	t = append(t, socketRows()...)
	t = append(t, coreRows()...)
	return append(t, pythonRows()...)
}

// What many functions fail with. EIO and ENOMEM come from mounts, which are
// listed when a lookup first meets them; a file of the host adds what its system
// call fails with.
const (
	lookup = "EACCES EBADF EFAULT EIO ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR" // finding a path
	create = lookup + " EEXIST ENOSPC EROFS"                                    // adding a name
)

// envRow makes a row of the module that Emscripten's own imports come from.
func envRow(name, sig, args, source string, support hostfn.Support, note string, fn hostfn.Func) hostfn.Row {
	return hostfn.Row{Module: "env", Name: name, Sig: sig, Args: args, Source: source, Support: support, Note: note, Fn: fn}
}

func wasiRows() hostfn.Table {
	row := func(name, sig, args, errnos string, fn hostfn.Func) hostfn.Row {
		return hostfn.Row{
			Module: "wasi_snapshot_preview1", Name: name, Sig: sig, Args: args, Errnos: errnos,
			Source: "libwasi.js", Support: full, Fn: fn,
		}
	}
	t := hostfn.Table{
		row("environ_get", "ii:i", "environ buf", "EFAULT", wasi(doEnvironGet)),
		row("environ_sizes_get", "ii:i", "count size", "EFAULT", wasi(doEnvironSizesGet)),
		row("clock_time_get", "iji:i", "clock precision time", "EFAULT EINVAL", wasi(doClockTimeGet)),
		row("clock_res_get", "ii:i", "clock resolution", "EFAULT EINVAL", wasi(doClockResGet)),
		row("fd_close", "i:i", "fd", "EBADF", wasi(doClose)),
		row("fd_fdstat_get", "ii:i", "fd stat", "EBADF EFAULT", wasi(onFile(doFdFdstatGet))),
		row("fd_pread", "iiiji:i", "fd iov iovcnt offset count", "EBADF EFAULT EINVAL EIO EISDIR ESPIPE", wasi(notNegative(3, onFile(doFdPread)))),
		row("fd_pwrite", "iiiji:i", "fd iov iovcnt offset count", "EBADF EFAULT EFBIG EINVAL ENOSPC ESPIPE", wasi(notNegative(3, onFile(doFdPwrite)))),
		row("fd_read", "iiii:i", "fd iov iovcnt count", "EAGAIN EBADF ECONNABORTED ECONNREFUSED ECONNRESET EFAULT EHOSTUNREACH EINTR EINVAL EIO EISDIR ENETUNREACH ENOTCONN EPIPE ETIMEDOUT", wasi(onFile(doFdRead))),
		row("fd_seek", "ijii:i", "fd offset whence newOffset", "EBADF EFAULT EINVAL ESPIPE", wasi(onFile(doFdSeek))),
		row("fd_sync", "i:i", "fd", "EBADF EINVAL", wasi(onFile(doFdSync))),
		row("fd_write", "iiii:i", "fd iov iovcnt count", "EAGAIN EBADF ECONNABORTED ECONNREFUSED ECONNRESET EDESTADDRREQ EFAULT EFBIG EHOSTUNREACH EINTR EINVAL EMSGSIZE ENETUNREACH ENOBUFS ENOSPC ENOTCONN EPIPE ETIMEDOUT", wasi(onFile(doFdWrite))),
		row("proc_exit", "i:", "status", "", void(doExit)),
		row("random_get", "ii:i", "buffer size", "EFAULT EIO", wasi(doRandomGet)),
	}
	t[2].Note = "the processor-time clocks show the monotonic one, as upstream"
	return t
}

func fileRows() hostfn.Table {
	const src = "libsyscall.js"
	fails := func(errnos string, r hostfn.Row) hostfn.Row {
		r.Errnos = errnos
		return r
	}
	row := func(name, sig, args, errnos string, fn hostfn.Func) hostfn.Row {
		return fails(errnos, envRow("__syscall_"+name, sig, args, src, full, "", fn))
	}
	with := func(r hostfn.Row, support hostfn.Support, note string) hostfn.Row {
		r.Support, r.Note = support, note
		return r
	}
	return hostfn.Table{
		row("chdir", "i:i", "path", lookup, sys0(onNode(pathNode, doChdir))),
		row("chmod", "ii:i", "path mode", lookup+" EOPNOTSUPP EROFS", sys0(onNode(pathNode, chmod(1)))),
		row("dup", "i:i", "fd", "EBADF EMFILE", sys(doDup)),
		row("dup3", "iii:i", "fd newfd flags", "EBADF EINVAL", sys(doDup3)),
		row("faccessat", "iiii:i", "dirfd path amode flags", lookup+" EINVAL EROFS", sys0(doFaccessat)),
		with(row("fadvise64", "ijji:i", "fd offset len advice", "EBADF", sys0(onFile(doNothing))), full, "advice is ignored"),
		with(row("fallocate", "iijj:i", "fd mode offset len", "EBADF EFBIG EINVAL ENODEV ENOENT ENOSPC EOPNOTSUPP ESPIPE", sys0(onFile(doFallocate))), partial, "mode 0 only; room is not reserved"),
		row("fchdir", "i:i", "fd", "EACCES EBADF ENOTDIR", sys0(onFile(doFchdir))),
		row("fchmod", "ii:i", "fd mode", "EBADF EINVAL EOPNOTSUPP EROFS", sys0(onNode(fdNode, chmod(1)))),
		row("fchmodat2", "iiii:i", "dirfd path mode flags", lookup+" EOPNOTSUPP EROFS", sys0(onNode(atNode(3), chmod(2)))),
		with(row("fchown32", "iii:i", "fd owner group", "EBADF EINVAL EROFS", sys0(onNode(fdNode, chown(1)))), full, "ids are recorded and mean nothing"),
		with(row("fchownat", "iiiii:i", "dirfd path owner group flags", lookup+" EINVAL EROFS", sys0(onNode(atOrSelfNode(4), chown(2)))), full, "ids are recorded and mean nothing"),
		with(row("fcntl64", "iii:i", "fd cmd varargs", "EBADF EFAULT EINVAL EMFILE", sys(doFcntl64)), partial, "locks always succeed; no owners, no leases"),
		row("fdatasync", "i:i", "fd", "EBADF EINVAL", sys0(onFile(doFdSync))),
		row("fstat64", "ii:i", "fd buf", "EBADF EFAULT", sys0(onFile(doFstat))),
		row("fstatfs64", "iii:i", "fd size buf", "EBADF EFAULT EINVAL", sys0(onFile(doFstatfs))),
		row("ftruncate64", "ij:i", "fd length", "EBADF EFBIG EINVAL ENOENT", sys0(notNegative(1, onFile(doFtruncate)))),
		row("getcwd", "ii:i", "buf size", "EFAULT EINVAL ENAMETOOLONG ENOENT ERANGE", sys(doGetcwd)),
		row("getdents64", "iii:i", "fd dirp count", "EBADF EFAULT EINVAL EIO EMFILE ENOENT ENOMEM ENOTDIR", sys(doGetdents64)),
		with(row("ioctl", "iii:i", "fd op varargs", "EBADF EFAULT EINVAL ENOTTY", sys(doIoctl)), partial, "no terminals; FIONREAD of regular files and sockets only"),
		row("lstat64", "ii:i", "path buf", lookup, sys0(onNode(linkNode, doStat))),
		row("mkdirat", "iii:i", "dirfd path mode", create, sys0(onName(doMkdirat))),
		with(row("mknodat", "iiii:i", "dirfd path mode dev", create+" EPERM", sys0(onName(doMknodat))), partial, "regular files and FIFOs only"),
		row("newfstatat", "iiii:i", "dirfd path buf flags", lookup, sys0(doNewfstatat)),
		row("openat", "iiii:i", "dirfd path flags varargs", create+" EINTR EINVAL EISDIR EMFILE ENFILE ENXIO EOPNOTSUPP", sys(doOpenat)),
		row("pipe", "i:i", "fdPtr", "EFAULT EMFILE ENFILE", sys0(doPipe)),
		with(row("poll", "iii:i", "fds nfds timeout", "EFAULT EINTR EINVAL", sys(doPoll)), full, "waits, which upstream cannot"),
		row("readlinkat", "iiii:i", "dirfd path buf bufsize", lookup+" EINVAL", sys(doReadlinkat)),
		row("renameat", "iiii:i", "olddirfd oldpath newdirfd newpath", lookup+" EBUSY EINVAL EISDIR ENOTEMPTY EROFS EXDEV", sys0(onName(doRenameat))),
		row("rmdir", "i:i", "path", lookup+" EBUSY EINVAL ENOTEMPTY EROFS", sys0(doRmdir)),
		row("stat64", "ii:i", "path buf", lookup, sys0(onNode(pathNode, doStat))),
		row("statfs64", "iii:i", "path size buf", lookup+" EINVAL", sys0(onNode(pathNode, doStatfs))),
		row("symlinkat", "iii:i", "target dirfd linkpath", create+" EPERM", sys0(doSymlinkat)),
		row("truncate64", "ij:i", "path length", lookup+" EFBIG EINVAL EISDIR EROFS", sys0(notNegative(1, onNode(pathNode, doTruncate)))),
		row("unlinkat", "iii:i", "dirfd path flags", lookup+" EBUSY EINVAL EISDIR ENOTEMPTY EROFS", sys0(onName(doUnlinkat))),
		row("utimensat", "iiii:i", "dirfd path times flags", lookup+" EINVAL EROFS", sys0(doUtimensat)),
		envRow("__syscall_umask_js", "i:i", "mask", src, full, "a mask that is none parks the program, see Guest.Park", value(doUmask)),
		envRow("__syscall_getuid32_js", ":i", "", src, full, "the one user is root, as upstream in a browser", zero),
		fails("EACCES EBADF EFAULT EINVAL EIO ENODEV ENOMEM", envRow("_mmap_js", "iiiijii:i", "len prot flags fd offset allocated addr", src, partial, "a copy: file and memory meet at msync and munmap only", sys0(doMmap))),
		fails("EBADF EFAULT EFBIG ENOMEM ENOSPC", envRow("_msync_js", "iiiiij:i", "addr len prot flags fd offset", src, full, "writes the pages that changed", sys0(doMsync))),
		fails("EBADF EFAULT EFBIG ENOSPC", envRow("_munmap_js", "iiiiij:i", "addr len prot flags fd offset", src, full, "", sys0(doMunmap))),
	}
}

func socketRows() hostfn.Table {
	var t hostfn.Table
	row := func(name, args, errnos string, support hostfn.Support, note string, f func(call, sock) (int32, abi.Errno)) {
		r := envRow("__syscall_"+name, "iiiiii:i", args, "libsyscall.js", support, note, sys(onSocket(f)))
		r.Errnos = "ENOTSOCK " + errnos
		t = append(t, r)
	}
	const (
		noPriority = "no urgent data"
		addressed  = "EAFNOSUPPORT EINVAL " + lookup
		reached    = addressed + " EAGAIN ECONNABORTED ECONNREFUSED ECONNRESET EHOSTUNREACH EINTR ENETUNREACH ENOBUFS EPIPE EPROTOTYPE ETIMEDOUT EADDRINUSE EADDRNOTAVAIL"
		sent       = reached + " EDESTADDRREQ EISCONN EMSGSIZE ENOTCONN EOPNOTSUPP"
		received   = "EAGAIN EBADF ECONNABORTED ECONNREFUSED ECONNRESET EFAULT EHOSTUNREACH EINTR EINVAL EMSGSIZE ENETUNREACH ENOTCONN EPIPE ETIMEDOUT"
	)
	row("accept4", "fd addr addrlen flags d1 d2", "EAGAIN EBADF EFAULT EINTR EINVAL EMFILE EOPNOTSUPP", full, "", doAccept4)
	row("bind", "fd addr addrlen d1 d2 d3", addressed+" EADDRINUSE EADDRNOTAVAIL ENOSPC EPERM EROFS", partial, "addresses of the sandbox only", doBind)
	row("connect", "fd addr addrlen d1 d2 d3", reached+" EALREADY EINPROGRESS EISCONN", full, "what is outside: by the policy", doConnect)
	row("listen", "fd backlog d1 d2 d3 d4", "EACCES EADDRINUSE EADDRNOTAVAIL EBADF ECONNABORTED EINVAL EOPNOTSUPP", full, "on the host where the policy allows it", doListen)
	row("sendmsg", "fd message flags d1 d2 d3", sent, partial, noPriority+"; SCM_RIGHTS alone goes along", doSendmsg)
	row("sendto", "fd message length flags addr addr_len", sent, partial, noPriority, doSendto)
	row("getpeername", "fd addr addrlen d1 d2 d3", "EBADF EFAULT EINVAL ENOTCONN", full, "", doGetpeername)
	row("recvfrom", "fd buf len flags addr addrlen", received, partial, noPriority, doRecvfrom)
	row("recvmsg", "fd message flags d1 d2 d3", received, partial, noPriority, doRecvmsg)
	row("getsockname", "fd addr addrlen d1 d2 d3", "EBADF EFAULT EINVAL", full, "", doGetsockname)
	row("getsockopt", "fd level optname optval optlen d1", "EBADF EFAULT EINVAL ENOPROTOOPT EOPNOTSUPP", partial, "options that tune a protocol are remembered", doGetsockopt)
	made := envRow("__syscall_socket", "iiiiii:i", "domain type protocol d1 d2 d3", "libsyscall.js", partial, "AF_INET, AF_INET6 and AF_UNIX", sys(doSocket))
	made.Errnos = "EAFNOSUPPORT EINVAL EMFILE ENFILE ENOBUFS EPERM EPROTONOSUPPORT ESOCKTNOSUPPORT"
	t = append(t, made)
	// Pyodide asks these first, for its sockets on Node; null and false mean
	// that the call is not theirs.
	const src = "socket_syscalls.c"
	async := func(name, args string) {
		t = append(t, envRow("_maybe_"+name+"_async", "iii:e", args, src, full, "never: the system call that follows does the work", zero))
	}
	async("connect", "fd addr addrlen")
	async("poll", "fds nfds timeout")
	async("recvfrom", "fd buf len")
	async("sendto", "fd message length")
	return append(t,
		envRow("_try_fcntl64", "iiii:i", "fd cmd arg result", src, full, "never", zero),
		envRow("_try_shutdown", "iii:i", "fd how result", src, full, "always: the system call behind it is a stub", value(doTryShutdown)),
		envRow("getaddrinfo", "iiii:i", "node service hint out", "libsockfs.js", partial, "the first address", value(doGetaddrinfo)),
		envRow("getnameinfo", "iiiiiii:i", "sa salen node nodelen serv servlen flags", "libsockfs.js", partial, "names of the loopback only", value(doGetnameinfo)),
		envRow("getprotobyname", "i:i", "name", "libsockfs.js", absent, "no protocol has a name; Python's has", zero),
		envRow("_emscripten_lookup_name", "i:i", "name", "libsockfs.js", partial, "one address; an unknown name is 0.0.0.0", value(doLookupName)),
	)
}

func coreRows() hostfn.Table {
	const (
		core  = "libcore.js"
		time  = "libtime.js"
		event = "libeventloop.js"
		dl    = "libdylink.js"
		prom  = "libpromise.js"
	)
	return hostfn.Table{
		envRow("exit", "i:", "status", core, full, "ends the guest", void(doExit)),
		envRow("_abort_js", ":", "", core, full, "ends the guest", void(doAbort)),
		envRow("__assert_fail", "iiii:", "condition filename line func", core, full, "ends the guest", void(doAssertFail)),
		envRow("__call_sighandler", "ii:", "fp sig", core, partial, "CPython's own handler only", void(func(c call) { c.p.Guest.CallHandler(c.ctx, c.u32(0), c.i32(1)) })),
		envRow("_emscripten_system", "i:i", "command", core, absent, "no shell", value(doSystem)),
		envRow("_emscripten_get_progname", "ii:", "str len", core, full, "", void(doGetProgname)),
		envRow("_emscripten_log_formatted", "ii:", "flags str", core, full, "to stderr, 64 KiB in all", void(doLogFormatted)),
		envRow("emscripten_resize_heap", "i:i", "requestedSize", core, full, "", value(doResizeHeap)),
		envRow("emscripten_get_heap_max", ":i", "", core, full, "", value(doGetHeapMax)),
		envRow("emscripten_get_now", ":d", "", core, full, "waits when it is asked over and over: the guest sleeps", value(doGetNow)),
		envRow("emscripten_date_now", ":d", "", core, full, "", value(doDateNow)),
		envRow("emscripten_asm_const_int", "iii:i", "code sigPtr argbuf", core, absent, "raises: no JavaScript", noJavaScript("emscripten_asm_const_int")),
		envRow("emscripten_debugger", ":", "", core, full, "nobody debugs", nothing),

		envRow("_gmtime_js", "ji:", "time tmPtr", time, full, "", void(doGmtime)),
		envRow("_localtime_js", "ji:", "time tmPtr", time, full, "", void(doLocaltime)),
		envRow("_mktime_js", "i:j", "tmPtr", time, full, "", value(doMktime)),
		envRow("_timegm_js", "i:j", "tmPtr", time, full, "", value(doTimegm)),
		envRow("_tzset_js", "iiii:", "timezone daylight std_name dst_name", time, full, "names are the zone's own", void(doTzset)),

		envRow("_setitimer_js", "id:i", "which timeout_ms", event, full, "",
			value(doSetitimer)),
		envRow("emscripten_runtime_keepalive_push", ":", "", event, full, "the host decides when to end", nothing),
		envRow("emscripten_runtime_keepalive_pop", ":", "", event, full, "the host decides when to end", nothing),
		envRow("_emscripten_runtime_keepalive_clear", ":", "", event, full, "the host decides when to end", nothing),

		envRow("_dlopen_js", "i:i", "handle", dl, full, "by package dylink", value(func(c call) uint64 { return uint64(uint32(c.p.Guest.Dlopen(c.ctx, c.u32(0)))) })),
		envRow("_dlsym_js", "iii:i", "handle symbol symbolIndex", dl, full, "by package dylink", value(func(c call) uint64 { return uint64(c.p.Guest.Dlsym(c.ctx, c.u32(0), c.u32(1))) })),
		envRow("_emscripten_dlopen_js", "iiii:", "handle onsuccess onerror user_data", dl, absent, "no callbacks", void(func(c call) { c.p.Guest.DlError(c.ctx, "libraries are not loaded in the background") })),

		envRow("emscripten_promise_create", ":i", "", prom, absent, "a number that nobody waits for", value(doPromiseCreate)),
		envRow("emscripten_promise_destroy", "i:", "id", prom, absent, "does nothing", nothing),
		envRow("emscripten_promise_resolve", "iii:", "id result value", prom, absent, "does nothing", nothing),
	}
}

func pythonRows() hostfn.Table {
	const (
		libffi     = "libffi src/wasm32/ffi.c"
		trampoline = "CPython Python/emscripten_trampoline.c"
		signals    = "CPython Python/emscripten_signal.c"
	)
	return hostfn.Table{
		envRow("ffi_call_js", "iiii:", "cif fn rvalue avalue", libffi, full, "by package libffi", void(func(c call) { c.p.Guest.FFICall(c.ctx, c.u32(0), c.u32(1), c.u32(2), c.u32(3)) })),
		envRow("ffi_closure_alloc_js", "ii:i", "size code", libffi, full, "by package libffi", value(func(c call) uint64 { return uint64(c.p.Guest.FFIClosureAlloc(c.ctx, c.u32(0), c.u32(1))) })),
		envRow("ffi_closure_free_js", "i:", "closure", libffi, full, "by package libffi", void(func(c call) { c.p.Guest.FFIClosureFree(c.ctx, c.u32(0)) })),
		envRow("ffi_prep_closure_loc_js", "iiiii:i", "closure cif fun user_data codeloc", libffi, full, "by package libffi", value(func(c call) uint64 {
			return uint64(uint32(c.p.Guest.FFIClosurePrep(c.ctx, c.u32(0), c.u32(1), c.u32(2), c.u32(3), c.u32(4))))
		})),
		envRow("_PyEM_TrampolineCall_JS", "iiii:i", "func arg1 arg2 arg3", trampoline, partial, "operations of threads; else it raises: a trampoline is installed instead", value(doTrampoline)),
		envRow("_Py_CheckEmscriptenSignals_Helper", ":i", "", signals, full, "none: signals are put into the guest's memory", value(doCheckSignals)),
		envRow("_Py_emscripten_runtime", ":i", "", "CPython Python/sysmodule.c", full, "wazero", value(doRuntime)),
		envRow("emscripten_log_impl_js", "i:", "arg", "Pyodide src/core/print.c", full, "to stderr, 64 KiB in all", void(doLogImpl)),
	}
}
