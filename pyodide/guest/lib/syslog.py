"""Messages to a system log that is not there: they are dropped, or printed with
LOG_PERROR. See https://docs.python.org/3.14/library/syslog.html."""

import sys

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
(
    LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON, LOG_AUTHPRIV,
    LOG_FTP,
) = range(0, 96, 8)  # fmt: skip
LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7 = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32

_ident, _options, _mask = "", 0, 0xFF


def openlog(ident=None, logoption=0, facility=LOG_USER):
    global _ident, _options
    _ident, _options = ident or (sys.argv[0] if sys.argv else ""), logoption


def syslog(priority, message=None, /):
    if message is None:
        priority, message = LOG_INFO, priority
    if not isinstance(message, str):
        raise TypeError(f"syslog() argument must be str, not {type(message).__name__}")
    if _options & LOG_PERROR and LOG_MASK(priority & 7) & _mask:
        print(f"{_ident}: {message}", file=sys.stderr)


def closelog():
    global _ident, _options
    _ident, _options = "", 0


def setlogmask(maskpri, /):
    global _mask
    before, _mask = _mask, maskpri or _mask
    return before


def LOG_MASK(pri, /):
    return 1 << pri


def LOG_UPTO(pri, /):
    return (1 << (pri + 1)) - 1
