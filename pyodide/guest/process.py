"""Processes: module _coderunner_process, made at boot. A child is an interpreter or
a command of its own, which the host starts; it is never a copy of its parent."""

import errno
import operator
import os
import posix
import signal
import sys
import time
import types

import _coderunner
import _coderunner_pip
from _coderunner import call
from _coderunner_posix import add, check, encoded
from _coderunner_signals import handler_of

_SAME = -1

NO_FORK = (
    "a process cannot be copied here: start one with subprocess.run([sys.executable, ...]), or with multiprocessing, "
    "whose start method is spawn"
)


def _raise(answer, name=None, cwd=None):
    """Raises the OSError of a process that could not be started."""
    number = answer["errno"]
    if number in (errno.EAGAIN, errno.ENOMEM, errno.ENOSYS) and answer.get("text"):
        raise OSError(number, answer["text"])
    names = (cwd,) if answer.get("cwd") else (name,) if name is not None else ()
    raise OSError(number, os.strerror(number), *names)


def _spawn(paths, args, env, name=None, cwd=None, **options):
    """Starts a process, or replaces this one, and returns its pid."""
    if env is None:
        env = [k + b"=" + v for k, v in os.environb.items()]
    request = {
        "paths": [encoded(p) for p in paths], "args": [encoded(a) for a in args], "env": [encoded(e) for e in env],
        "cwd": None if cwd is None else encoded(cwd), "umask": _SAME, **options,
    }  # fmt: skip
    try:
        answer = call("spawn", request)
    except _coderunner.HostError as e:
        if "too long" not in str(e):
            raise
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG), *(() if name is None else (name,))) from None
    if answer.get("errno"):
        _raise(answer, name, cwd)
    return answer.get("pid", 0)


def _environment(env):
    pairs = [(os.fsencode(k), os.fsencode(v)) for k, v in list(env.items())]
    if any(b"=" in k[1:] for k, _ in pairs):
        raise ValueError("illegal environment variable name")
    return [k + b"=" + v for k, v in pairs]


def _words(name, args):
    """The words of a command line, as execv and posix_spawn take them."""
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"{name}: argv must be a tuple or list")
    if not args:
        raise ValueError(f"{name}: argv must not be empty")
    if not args[0]:
        raise ValueError(f"{name}: argv first element cannot be empty")
    return args


# ---- _posixsubprocess


def fork_exec(
    args, executables, close_fds, keep, cwd, env, stdin, _p2cwrite, _c2pread, stdout, _errread, stderr, _errpipe_read,
    _errpipe_write, restore_signals, session, group, gid, groups, uid, umask, preexec_fn, *_
):  # fmt: skip
    """Starts what subprocess wants. Its errors are raised here, not through the pipe."""
    if preexec_fn is not None:
        raise NotImplementedError(
            "preexec_fn is not possible here, where a child is not a copy of its parent: "
            "use cwd, env, umask, start_new_session and process_group"
        )
    if uid not in (None, -1, 0) or gid not in (None, -1, 0) or groups and set(groups) != {0}:
        raise PermissionError(errno.EPERM, "there is one user here, root (0)")
    if (0 if group is None else group) >= 0 and session and group > 0:
        check(errno.EPERM)
    executables = list(executables)
    return _spawn(
        executables, args, env, os.fsdecode(executables[0] if len(executables) == 1 else os.path.basename(executables[0])), cwd,
        map=[[to, fd if fd >= 0 else to] for to, fd in enumerate((stdin, stdout, stderr))] + [[fd, fd] for fd in keep if fd > 2 and fd != _errpipe_write],
        all=not close_fds, session=bool(session), umask=umask,
        group=0 if group is None or group < 0 else group or _SAME,
    )  # fmt: skip


_posixsubprocess = types.ModuleType("_posixsubprocess", "Starts the processes of subprocess and multiprocessing.")
_posixsubprocess.fork_exec = fork_exec
sys.modules["_posixsubprocess"] = _posixsubprocess


# ---- os

_pid = 42


def getpid():
    return _pid


def _process(pid):
    answer = call("process", pid)
    if isinstance(answer, int):
        if answer == errno.ENOSYS and pid in (0, _pid):
            return _pid, 1, _pid, _pid, 0.0
        check(answer)
    return answer


def getppid():
    return _process(0)[1]


def getpgid(pid, /):
    return _process(pid)[2]


def getpgrp():
    return _process(0)[2]


def getsid(pid, /):
    return _process(pid)[3]


def setpgid(pid, pgrp, /):
    check(call("set_group", {"pid": pid, "group": pgrp}))


def setpgrp():
    setpgid(0, 0)


def setsid():
    check(call("set_session"))


_send = os.kill


def _kill(pid, signal):
    _send(pid, signal)
    call("interrupt", None)  # the main thread, which handles signals, may wait for something


def kill(pid, signal, /):
    if not isinstance(pid, int) or not isinstance(signal, int):
        raise TypeError("kill expected two integers")
    if pid == _pid and (callable(handler_of(signal)) if 0 < signal < 65 else signal < 0):
        return _kill(42, signal)
    number = call("kill", {"pid": pid, "signal": int(signal)}) if 0 <= signal < 65 else errno.EINVAL
    if number == errno.EOPNOTSUPP:
        raise OSError(number, "a process cannot be stopped here, only ended: send SIGTERM or SIGKILL")
    if number == errno.ENOSYS and pid == _pid:
        return _kill(42, signal)
    check(number)


def killpg(pgid, signal, /):
    kill(-pgid if pgid > 1 else 0, signal)


def _wait(pid, options):
    while True:
        answer = call("wait", {"pid": pid, "options": int(options)})
        if isinstance(answer, list):
            return answer
        if answer != errno.EINTR:
            check(answer)


def waitpid(pid, options, /):
    return tuple(_wait(pid, options)[:2])


def wait():
    return waitpid(-1, 0)


def wait4(pid, options):
    import resource

    child, status, cpu = _wait(pid, options)
    return child, status, resource.struct_rusage((cpu,) + (0,) * 15)


def wait3(options):
    return wait4(-1, options)


def waitid(idtype, id, options, /):
    pid = {os.P_PID: id, os.P_PGID: -id, os.P_ALL: -1}.get(idtype)
    if pid is None or not options & os.WEXITED:
        check(errno.EINVAL)
    child, status, _ = _wait(pid, options & (os.WNOHANG | os.WNOWAIT))
    if not child:
        return None
    killed = os.WIFSIGNALED(status)
    code = os.WTERMSIG(status) if killed else os.WEXITSTATUS(status)
    return posix.waitid_result((child, 0, signal.SIGCHLD, code, os.CLD_KILLED if killed else os.CLD_EXITED))


def pidfd_open(pid, flags=0):
    fd = call("open_pid", pid)
    if fd < 0:
        check(-fd)
    return fd


def times():
    mine, children = call("usage")["cpu"], _process(0)[4]
    return posix.times_result((mine, 0.0, children, 0.0, time.monotonic()))


def execve(path, args, env):
    if isinstance(path, int):
        check(errno.ENOTSUP, path)
    environment = _environment(env)
    _spawn([path], _words("execve", args), environment, path, all=True, map=[[n, n] for n in range(3)], replace=True)
    os._exit(0)  # what comes next takes this process's place


def execv(path, args, /):
    execve(path, args, os.environ)


_OPEN, _CLOSE, _DUP2 = range(3)


def posix_spawn(path, argv, env, /, **options):
    return _posix_spawn([path], argv, env, **options)


def posix_spawnp(path, argv, env, /, **options):
    paths = [path] if os.path.dirname(path) else [os.path.join(os.fsencode(d), os.fsencode(path)) for d in os.get_exec_path(env)]
    return _posix_spawn(paths, argv, env, **options)


def _posix_spawn(
    paths, argv, env, *, file_actions=(), setpgroup=None, resetids=False, setsid=False, setsigmask=(), setsigdef=(), scheduler=None
):  # fmt: skip
    if any(_signals(setsigmask)):
        raise NotImplementedError("setsigmask is not possible here: a process begins with no signal blocked")
    _signals(setsigdef)  # a child does not ignore what its parent does
    group = 0 if setpgroup is None else operator.index(setpgroup) or _SAME
    files, closed, opened = {n: n for n in range(3)}, [], []
    try:
        for action in file_actions or ():
            _act(action, files, closed, opened)
        return _spawn(
            paths, _words("posix_spawn", argv), _environment(env), os.fspath(paths[0]), all=True, close=closed,
            map=[[to, fd] for to, fd in files.items()], group=group, session=bool(setsid),
        )  # fmt: skip
    finally:
        for fd in opened:
            os.close(fd)


def _signals(numbers):
    numbers = [operator.index(n) for n in numbers]
    for n in numbers:
        if not 0 < n < signal.NSIG:
            raise ValueError(f"signal number {n} out of range [1; {signal.NSIG - 1}]")
    return numbers


def _act(action, files, closed, opened):
    """Does what an element of file_actions asks for."""
    if not isinstance(action, tuple) or not action:
        raise TypeError("Each file_actions element must be a non-empty tuple")
    what, *rest = action
    if what not in (_OPEN, _CLOSE, _DUP2):
        raise TypeError("Unknown file_actions identifier")
    if len(rest) != (4, 1, 2)[what]:
        raise TypeError("A file_actions element has too few or too many values")
    fd = operator.index(rest[0])
    if what == _OPEN:
        opened.append(os.open(*rest[1:]))
        files[fd] = opened[-1]
    elif what == _DUP2:
        files[operator.index(rest[1])] = files.get(fd, fd)
    else:
        files.pop(fd, None)
        closed.append(fd)


def _spawnvef(mode, file, args, env, func):
    """What os.spawnv and its relatives call, which would fork."""
    if not args or not args[0]:
        raise ValueError("invalid arguments")
    search = func in (os.execvp, os.execvpe)
    pid = (posix_spawnp if search else posix_spawn)(file, args, os.environ if env is None else env)
    if mode == os.P_NOWAIT:
        return pid
    return os.waitstatus_to_exitcode(waitpid(pid, 0)[1])


def fork():
    raise OSError(errno.ENOTSUP, NO_FORK)


def forkpty():
    fork()


def system(command):
    code = _coderunner_pip._run(command)
    if code is not None:
        return code << 8
    try:
        pid = _spawn(["/bin/sh"], ["sh", "-c", command], None, "/bin/sh", all=True, map=[[n, n] for n in range(3)])
    except OSError:
        print("os.system: there is no shell here, so nothing was run; use subprocess with a list of words", file=sys.stderr)
        return 127 << 8
    return waitpid(pid, 0)[1]


add(
    os, getpid, getppid, getpgid, getpgrp, getsid, setpgid, setpgrp, setsid, kill, killpg, waitpid, wait, wait3, wait4,
    waitid, pidfd_open, times, execv, execve, posix_spawn, posix_spawnp, fork, forkpty, system,
)  # fmt: skip
os._spawnvef = _spawnvef
os.POSIX_SPAWN_OPEN, os.POSIX_SPAWN_CLOSE, os.POSIX_SPAWN_DUP2 = _OPEN, _CLOSE, _DUP2
sys.executable = sys._base_executable = "/usr/bin/python3"
