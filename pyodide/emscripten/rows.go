package emscripten

import (
	"github.com/tetratelabs/wazero/api"

	"coderunner/pyodide/hostfn"
)

const (
	full    = hostfn.Full
	partial = hostfn.Partial
	absent  = hostfn.Absent
)

// Rows gives the functions of this package: system calls, and what Emscripten's
// and CPython's C code wants of its JavaScript. The rest of the pinned module's
// imports are in package jsffi.
func Rows() hostfn.Table {
	var t hostfn.Table
	t = append(t, wasiRows()...)
	t = append(t, fileRows()...)
	t = append(t, socketRows()...)
	t = append(t, coreRows()...)
	t = append(t, pythonRows()...)
	for i := range t {
		t[i].Args = parameters[t[i].Name]
	}
	return t
}

// env makes a row of the module that Emscripten's own imports come from.
func env(name, sig, source string, support hostfn.Support, note string, fn hostfn.Func) hostfn.Row {
	return hostfn.Row{Module: "env", Name: name, Sig: sig, Source: source, Support: support, Note: note, Fn: fn}
}

func wasiRows() hostfn.Table {
	row := func(name, sig, source string, fn hostfn.Func) hostfn.Row {
		return hostfn.Row{Module: "wasi_snapshot_preview1", Name: name, Sig: sig, Source: source, Support: full, Fn: fn}
	}
	const src = "libwasi.js"
	t := hostfn.Table{
		row("environ_get", "ii:i", src, wasi(doEnvironGet)),
		row("environ_sizes_get", "ii:i", src, wasi(doEnvironSizesGet)),
		row("clock_time_get", "iji:i", src, wasi(doClockTimeGet)),
		row("clock_res_get", "ii:i", src, wasi(doClockResGet)),
		row("fd_close", "i:i", src, wasi(doClose)),
		row("fd_fdstat_get", "ii:i", src, wasi(doFdFdstatGet)),
		row("fd_pread", "iiiji:i", src, wasi(doFdPread)),
		row("fd_pwrite", "iiiji:i", src, wasi(doFdPwrite)),
		row("fd_read", "iiii:i", src, wasi(doFdRead)),
		row("fd_seek", "ijii:i", src, wasi(doFdSeek)),
		row("fd_sync", "i:i", src, wasi(doFdSync)),
		row("fd_write", "iiii:i", src, wasi(doFdWrite)),
		row("proc_exit", "i:", src, void(doExit)),
		row("random_get", "ii:i", src, wasi(doRandomGet)),
	}
	t[2].Note = "the processor-time clocks show the monotonic one, as upstream"
	return t
}

func fileRows() hostfn.Table {
	const src = "libsyscall.js"
	row := func(name, sig string, fn hostfn.Func) hostfn.Row {
		return env("__syscall_"+name, sig, src, full, "", fn)
	}
	with := func(r hostfn.Row, support hostfn.Support, note string) hostfn.Row {
		r.Support, r.Note = support, note
		return r
	}
	return hostfn.Table{
		row("chdir", "i:i", sys0(doChdir)),
		row("chmod", "ii:i", sys0(doChmod)),
		row("dup", "i:i", sys(doDup)),
		row("dup3", "iii:i", sys(doDup3)),
		row("faccessat", "iiii:i", sys0(doFaccessat)),
		with(row("fadvise64", "ijji:i", sys0(doFadvise64)), full, "advice is ignored"),
		with(row("fallocate", "iijj:i", sys0(doFallocate)), partial, "mode 0 only; room is not reserved"),
		row("fchdir", "i:i", sys0(doFchdir)),
		row("fchmod", "ii:i", sys0(doFchmod)),
		row("fchmodat2", "iiii:i", sys0(doFchmodat2)),
		with(row("fchown32", "iii:i", sys0(doFchown32)), full, "ids are recorded and mean nothing"),
		with(row("fchownat", "iiiii:i", sys0(doFchownat)), full, "ids are recorded and mean nothing"),
		with(row("fcntl64", "iii:i", sys(doFcntl64)), partial, "locks always succeed; no owners, no leases"),
		row("fdatasync", "i:i", sys0(doFdSync)),
		row("fstat64", "ii:i", sys0(doFstat64)),
		row("fstatfs64", "iii:i", sys0(doFstatfs64)),
		row("ftruncate64", "ij:i", sys0(doFtruncate64)),
		row("getcwd", "ii:i", sys(doGetcwd)),
		row("getdents64", "iii:i", sys(doGetdents64)),
		with(row("ioctl", "iii:i", sys(doIoctl)), partial, "no terminals; FIONREAD of regular files only"),
		row("lstat64", "ii:i", sys0(doLstat64)),
		row("mkdirat", "iii:i", sys0(doMkdirat)),
		with(row("mknodat", "iiii:i", sys0(doMknodat)), partial, "regular files and FIFOs only"),
		row("newfstatat", "iiii:i", sys0(doNewfstatat)),
		row("openat", "iiii:i", sys(doOpenat)),
		row("pipe", "i:i", sys0(doPipe)),
		with(row("poll", "iii:i", sys(doPoll)), full, "waits, which upstream cannot"),
		row("readlinkat", "iiii:i", sys(doReadlinkat)),
		row("renameat", "iiii:i", sys0(doRenameat)),
		row("rmdir", "i:i", sys0(doRmdir)),
		row("stat64", "ii:i", sys0(doStat64)),
		row("statfs64", "iii:i", sys0(doStatfs64)),
		row("symlinkat", "iii:i", sys0(doSymlinkat)),
		row("truncate64", "ij:i", sys0(doTruncate64)),
		row("unlinkat", "iii:i", sys0(doUnlinkat)),
		row("utimensat", "iiii:i", sys0(doUtimensat)),
		env("__syscall_umask_js", "i:i", src, full, "", value(doUmask)),
		env("__syscall_getuid32_js", ":i", src, full, "the one user is root, as upstream in a browser", always(0)),
		env("_mmap_js", "iiiijii:i", src, partial, "a copy: file and memory meet at msync and munmap only", sys0(doMmap)),
		env("_msync_js", "iiiiij:i", src, full, "writes the pages that changed", sys0(doMsync)),
		env("_munmap_js", "iiiiij:i", src, full, "", sys0(doMunmap)),
	}
}

func socketRows() hostfn.Table {
	const note = "there is no network"
	var t hostfn.Table
	row := func(name string, support hostfn.Support, note string, f hostfn.Func) {
		t = append(t, env("__syscall_"+name, "iiiiii:i", "libsyscall.js", support, note, f))
	}
	for _, name := range [...]string{"accept4", "bind", "connect", "listen", "sendmsg", "sendto"} {
		row(name, absent, note, sys0(refused))
	}
	for _, name := range [...]string{"getpeername", "recvfrom", "recvmsg"} {
		row(name, absent, note, sys0(unconnected))
	}
	row("socket", partial, "it never has another end: there is no network", sys(doSocket))
	row("getsockname", partial, "the address that nothing is bound to", sys0(doGetsockname))
	row("getsockopt", partial, "what the socket is", sys0(doGetsockopt))
	// Pyodide asks these first, for its sockets on Node; null and false mean
	// that the call is not theirs.
	const src = "socket_syscalls.c"
	for _, name := range [...]string{"connect", "poll", "recvfrom", "sendto"} {
		t = append(t, env("_maybe_"+name+"_async", "iii:e", src, full, "never: the system call that follows does the work", always(0)))
	}
	return append(t,
		env("_try_fcntl64", "iiii:i", src, full, "never", always(0)),
		env("_try_shutdown", "iii:i", src, full, "never", always(0)),
		env("getaddrinfo", "iiii:i", "libsockfs.js", absent, note, value(doGetaddrinfo)),
		env("getnameinfo", "iiiiiii:i", "libsockfs.js", absent, note, value(doGetnameinfo)),
		env("getprotobyname", "i:i", "libsockfs.js", absent, "no protocol has a name", always(0)),
		env("_emscripten_lookup_name", "i:i", "libsockfs.js", partial, "addresses only; a name is 0.0.0.0", value(doLookupName)),
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
		env("exit", "i:", core, full, "ends the guest", void(doExit)),
		env("_abort_js", ":", core, full, "ends the guest", void(doAbort)),
		env("__assert_fail", "iiii:", core, full, "ends the guest", void(doAssertFail)),
		env("__call_sighandler", "ii:", core, partial, "through Guest.CallHandler", void(doCallSighandler)),
		env("_emscripten_system", "i:i", core, absent, "no shell", value(doSystem)),
		env("_emscripten_get_progname", "ii:", core, full, "", void(doGetProgname)),
		env("_emscripten_log_formatted", "ii:", core, full, "to stderr, 64 KiB in all", void(doLogFormatted)),
		env("emscripten_resize_heap", "i:i", core, full, "", value(doResizeHeap)),
		env("emscripten_get_heap_max", ":i", core, full, "", value(doGetHeapMax)),
		env("emscripten_get_now", ":d", core, full, "waits when it is asked over and over: the guest sleeps", value(doGetNow)),
		env("emscripten_date_now", ":d", core, full, "", value(doDateNow)),
		env("emscripten_asm_const_int", "iii:i", core, absent, "raises: no JavaScript", noJavaScript("emscripten_asm_const_int")),
		env("emscripten_debugger", ":", core, full, "nobody debugs", nothing),

		env("_gmtime_js", "ji:", time, full, "", void(doGmtime)),
		env("_localtime_js", "ji:", time, full, "", void(doLocaltime)),
		env("_mktime_js", "i:j", time, full, "", value(doMktime)),
		env("_timegm_js", "i:j", time, full, "", value(doTimegm)),
		env("_tzset_js", "iiii:", time, full, "names are the zone's own", void(doTzset)),

		env("_setitimer_js", "id:i", event, partial, "through Guest.Alarm; without it a timer is seen in sleep only",
			value(func(c call) uint64 { return doSetitimer(c, api.DecodeF64(c.stack[1])) })),
		env("emscripten_runtime_keepalive_push", ":", event, full, "the host decides when to end", nothing),
		env("emscripten_runtime_keepalive_pop", ":", event, full, "the host decides when to end", nothing),
		env("_emscripten_runtime_keepalive_clear", ":", event, full, "the host decides when to end", nothing),

		env("_dlopen_js", "i:i", dl, partial, "through Guest.Dlopen", value(doDlopen)),
		env("_dlsym_js", "iii:i", dl, partial, "through Guest.Dlsym", value(doDlsym)),
		env("_emscripten_dlopen_js", "iiii:", dl, absent, "no callbacks", void(doDlopenAsync)),

		env("emscripten_promise_create", ":i", prom, absent, "a number that nobody waits for", value(doPromiseCreate)),
		env("emscripten_promise_destroy", "i:", prom, absent, "does nothing", nothing),
		env("emscripten_promise_resolve", "iii:", prom, absent, "does nothing", nothing),
	}
}

func pythonRows() hostfn.Table {
	const (
		libffi     = "libffi src/wasm32/ffi.c"
		trampoline = "CPython Python/emscripten_trampoline.c"
		signals    = "CPython Python/emscripten_signal.c"
	)
	return hostfn.Table{
		env("ffi_call_js", "iiii:", libffi, partial, "through Guest.FFICall", void(doFFICall)),
		env("ffi_closure_alloc_js", "ii:i", libffi, partial, "through Guest.FFIClosureAlloc", value(doFFIClosureAlloc)),
		env("ffi_closure_free_js", "i:", libffi, partial, "through Guest.FFIClosureFree", void(doFFIClosureFree)),
		env("ffi_prep_closure_loc_js", "iiiii:i", libffi, partial, "through Guest.FFIClosurePrep", value(doFFIClosurePrep)),
		env("_PyEM_TrampolineCall_JS", "iiii:i", trampoline, absent, "raises: a trampoline is installed instead", value(doTrampoline)),
		env("_Py_CheckEmscriptenSignals_Helper", ":i", signals, full, "none: signals are put into the guest's memory", always(0)),
		env("_Py_emscripten_runtime", ":i", "CPython Python/sysmodule.c", full, "wazero", value(doRuntime)),
		env("emscripten_log_impl_js", "i:", "Pyodide src/core/print.c", full, "to stderr, 64 KiB in all", void(doLogImpl)),
	}
}
