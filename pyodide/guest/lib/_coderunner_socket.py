"""What this build of _socket lacks: IPv6, AF_UNIX, socketpair, options, names,
and why something was refused.

CPython's C code was compiled without IPv6 and AF_UNIX. Its objects for such
sockets are of AF_INET, and the host gives each of their addresses an alias in
240.0.0.0/4 (see socket_alias.go), which is translated here. All else (data,
timeouts, messages) is C's.
"""

import _socket
import errno
import os
import sys

from _coderunner import call
from _coderunner_adapt import _NO_NETWORK
from _coderunner_errnos import linux

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
_C = _socket.socket
_MEANINGS = {
    -1: "Bad value for ai_flags",
    -2: "Name or service not known",
    -3: "Temporary failure in name resolution",
    -4: "Non-recoverable failure in name resolution",
    -5: "No address associated with hostname",
    -6: "ai_family not supported",
    -7: "ai_socktype not supported",
    -8: "Servname not supported for ai_socktype",
}
# What programs look for before they use it, and is not here.
_ABSENT = (
    "IPPROTO_UDPLITE", "UDPLITE_RECV_CSCOV", "UDPLITE_SEND_CSCOV", "IPV6_RECVHOPLIMIT", "IPV6_RECVTCLASS", "IPV6_RECVPKTINFO",
    "IPV6_RECVDSTOPTS", "IPV6_RECVHOPOPTS", "IPV6_RECVPATHMTU", "IPV6_RECVRTHDR",
)  # fmt: skip
_PROTOCOLS = {"ip": 0, "icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "ipv6": 41, "ipv6-icmp": 58, "sctp": 132, "udplite": 136}


class NameRefused(PermissionError, _socket.gaierror):
    """What callers of the name functions are prepared for, and why."""


NameRefused.__name__ = NameRefused.__qualname__ = "PermissionError"
NameRefused.__module__ = "builtins"


def _check(number):
    if number:
        raise OSError(number, os.strerror(number))


def _latin(path):
    return bytes(path).decode("latin-1")


class socket(_C):
    __slots__ = ("_family",)

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        if family not in (AF_INET6, AF_UNIX):
            _C.__init__(self, family, type, proto, fileno)
            if family == -1:
                family = AF_INET if fileno is None else _C.getsockopt(self, _socket.SOL_SOCKET, _socket.SO_DOMAIN)
        elif fileno is None:
            type, proto = 1 if type == -1 else type, max(proto, 0)
            number, fileno = call("socket.open", [family, type | _socket.SOCK_CLOEXEC, proto])
            _check(number)
        if family in (AF_INET6, AF_UNIX):
            _C.__init__(self, AF_INET, type, proto, fileno)
        self._family = family

    @property
    def family(self):
        return self._family

    def _alias(self, what, address):
        """The address as C's functions take it."""
        if self._family == AF_UNIX:
            if isinstance(address, str):
                address = os.fsencode(address)
            address = bytes(memoryview(address))
            if len(address) > 108 or len(address) == 108 and address[0]:
                raise OSError("AF_UNIX path too long")
            return call("socket.alias", {"family": AF_UNIX, "path": _latin(address)}), 0
        if self._family != AF_INET6:
            return address
        if not isinstance(address, tuple):
            raise TypeError(f"{what}(): AF_INET6 address must be tuple, not {type(address).__name__}")
        if not 2 <= len(address) <= 4:
            raise TypeError(f"{what}(): AF_INET6 address must be a pair (host, port)")
        host, port, flow, scope = (*address, 0, 0)[:4]
        if not 0 <= port <= 65535:
            raise OverflowError(f"{what}(): port must be 0-65535.")
        if not 0 <= flow <= 0xFFFFF:
            raise OverflowError(f"{what}(): flowinfo must be 0-1048575.")
        host, _, _, zone = getaddrinfo(host or None, 0, AF_INET6, 1, 0, 1)[0][4]
        return call("socket.alias", {"family": AF_INET6, "host": host, "port": port, "flow": flow, "scope": scope or zone}), 0

    def _real(self, address):
        """The address that C's functions returned."""
        if self._family == AF_INET or address is None or type(address[0]) is not str:
            return address
        real = call("socket.unalias", address[0])
        if self._family == AF_INET6:
            return tuple(real or ("::", 0, 0, 0))
        path = (real or "").encode("latin-1")
        return path if path[:1] == b"\0" else os.fsdecode(path)

    def _refused(self):
        return PermissionError(errno.EACCES, call("socket.refusal", self.fileno()) or _NO_NETWORK)

    def _explained(self, function, *args):
        """Calls a function of C's, and says why something was refused."""
        try:
            return function(self, *args)
        except PermissionError as e:
            raise (e if isinstance(e, NameRefused) else self._refused()) from None

    def bind(self, address, /):
        _C.bind(self, self._alias("bind", address))

    def connect(self, address, /):
        self._explained(_C.connect, self._alias("connect", address))

    def connect_ex(self, address, /):
        return linux(_C.connect_ex(self, self._alias("connect_ex", address)))

    def sendto(self, data, *rest):
        if not 1 <= len(rest) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({1 + len(rest)} given)")
        return self._explained(_C.sendto, data, *rest[:-1], self._alias("sendto", rest[-1]))

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        if address is None:
            return _C.sendmsg(self, buffers, ancdata, flags)
        return self._explained(_C.sendmsg, buffers, ancdata, flags, self._alias("sendmsg", address))

    def _accept(self):
        fd, address = _C._accept(self)
        return fd, self._real(address)

    def getsockname(self):
        return self._real(_C.getsockname(self))

    def getpeername(self):
        return self._real(_C.getpeername(self))

    def recvfrom(self, bufsize, flags=0, /):
        data, address = _C.recvfrom(self, bufsize, flags)
        return data, self._real(address)

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        n, address = _C.recvfrom_into(self, buffer, nbytes, flags)
        return n, self._real(address)

    def recvmsg(self, bufsize, ancbufsize=0, flags=0, /):
        *message, address = _C.recvmsg(self, bufsize, ancbufsize, flags)
        return *message, self._real(address)

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        *message, address = _C.recvmsg_into(self, buffers, ancbufsize, flags)
        return *message, self._real(address)

    def setsockopt(self, level, optname, value, optlen=None, /):
        """C's does nothing."""
        if optlen is not None:
            if value is not None:
                raise TypeError(f"socket option should be None when optlen is used, not {type(value).__name__}")
            value = bytes(optlen)
        elif isinstance(value, int):
            value = (value & 0xFFFFFFFF if -(1 << 31) <= value < 1 << 31 else _overflow()).to_bytes(4, "little")
        number = call("socket.set", [self.fileno(), level, optname], bytes(memoryview(value)))
        if number == errno.EACCES:
            raise self._refused()
        _check(number)

    def getsockopt(self, level, optname, buflen=0, /):
        value = _C.getsockopt(self, level, optname, buflen)
        if (level, optname) == (_socket.SOL_SOCKET, _socket.SO_ERROR) and not buflen:
            value = linux(value)
            if value == errno.EACCES:
                raise self._refused()  # asyncio would say only that the call failed
        return value


def _overflow():
    raise OverflowError("Python int too large to convert to C int")


socket.__module__ = "_socket"


def socketpair(family=AF_UNIX, type=1, proto=0, /):
    if family != AF_UNIX:
        _check(errno.EOPNOTSUPP)
    number, fds = call("socket.pair", type | _socket.SOCK_CLOEXEC)
    _check(number)
    return tuple(socket(AF_UNIX, type, proto, fd) for fd in fds)


# ---- names


def _name(host):
    if host is None:
        return ""
    if isinstance(host, str):
        if "\0" in host:
            raise ValueError("embedded null character")
        return host if host.isascii() else host.encode("idna").decode()
    if isinstance(host, (bytes, bytearray)):
        return host.decode("latin-1")
    raise TypeError("getaddrinfo() argument 1 must be string or None")


_NAME_MAX = 1024  # characters: no host's name is longer


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    node = _name(host)
    if isinstance(port, int):
        service = str(port)
    elif port is None or isinstance(port, (str, bytes)):
        service = _name(port)
    else:
        raise OSError("Int or String expected")
    sys.audit("socket.getaddrinfo", host, port, family, type, proto)
    if host is None and port is None or len(node or "") > _NAME_MAX or len(service or "") > _NAME_MAX:
        raise _socket.gaierror(-2, _MEANINGS[-2])
    bare, percent, zone = node.partition("%")
    scope = _scope(zone) if percent and ":" in bare else 0
    if scope:
        node = bare
    found = call("socket.lookup", {"host": node, "service": service, "family": family, "type": type, "protocol": proto, "flags": flags})
    if isinstance(found, dict):
        if found["refused"]:
            raise NameRefused(errno.EACCES, found["reason"] or _NO_NETWORK)
        raise _socket.gaierror(found["code"], _MEANINGS.get(found["code"], "Unknown error"))
    name = node if flags & 2 else ""  # AI_CANONNAME
    return [(f, t, p, name, (ip, number) if f == AF_INET else (ip, number, 0, scope)) for f, t, p, ip, number in found]


def _scope(zone):
    """The number of an interface that an address names after its %."""
    if zone.isdecimal() and int(zone) < 1 << 32:
        return int(zone)
    if zone != "lo":
        raise _socket.gaierror(-2, _MEANINGS[-2])
    return 1


def getnameinfo(sockaddr, flags, /):
    if not isinstance(sockaddr, tuple):
        raise TypeError("getnameinfo() argument 1 must be a tuple")
    host, port, flow, scope = (*sockaddr, 0, 0)[:4]
    if not 0 <= flow <= 0xFFFFF:
        raise OverflowError("getnameinfo(): flowinfo must be 0-1048575.")
    found = getaddrinfo(host, port, 0, 2, 0, 4)  # AI_NUMERICHOST
    code, host, service = call("socket.name", {"host": found[0][4][0], "port": port, "flags": flags})
    if code:
        raise _socket.gaierror(code, _MEANINGS.get(code, "Unknown error"))
    if scope and ":" in host:
        host += "%lo" if scope == 1 else f"%{scope}"
    return host, service


def gethostbyname(hostname, /):
    if hostname == "<broadcast>":
        return "255.255.255.255"
    if hostname == "":
        return "0.0.0.0"
    return getaddrinfo(hostname, None, AF_INET, 1)[0][4][0]


def gethostbyname_ex(hostname, /):
    return hostname, [], [f[4][0] for f in getaddrinfo(hostname, None, AF_INET, 1)]


def gethostbyaddr(ip_address, /):
    address = getaddrinfo(ip_address, None, 0, 1)[0][4][0]
    code, host, _ = call("socket.name", {"host": address, "port": 0, "flags": 8})
    if code:
        raise _socket.herror(1, "Unknown host")
    return host, [], [address]


def gethostname():
    return "localhost"


def getservbyname(servicename, protocolname="", /):
    port = call("socket.service", {"name": servicename, "protocol": protocolname})
    if not port:
        raise OSError("service/proto not found")
    return port


def getservbyport(port, protocolname="", /):
    if not 0 <= port <= 65535:
        raise OverflowError("getservbyport: port must be 0-65535.")
    name = call("socket.service", {"port": port, "protocol": protocolname})
    if not name:
        raise OSError("port/proto not found")
    return name


def getprotobyname(protocolname, /):
    if protocolname.lower() not in _PROTOCOLS:
        raise OSError("protocol not found")
    return _PROTOCOLS[protocolname.lower()]


def inet_pton(family, ip_string, /):
    if family != AF_INET6:
        return _pton(family, ip_string)
    packed = call("socket.pton", ip_string)
    if packed is None:
        raise OSError("illegal IP address string passed to inet_pton")
    return bytes(packed)


def inet_ntop(family, packed_ip, /):
    if family != AF_INET6:
        return _ntop(family, packed_ip)
    packed_ip = bytes(packed_ip)
    if len(packed_ip) != 16:
        raise ValueError("invalid length of packed IP address string")
    return call("socket.ntop", list(packed_ip))


_pton, _ntop = _socket.inet_pton, _socket.inet_ntop


def if_nameindex():
    return [(1, "lo")]


def if_nametoindex(name, /):
    if os.fsencode(name) != b"lo":
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    return 1


def if_indextoname(index, /):
    if index < 0:
        raise ValueError("can't convert negative int to unsigned")
    if index >= 1 << 32:
        raise OverflowError("can't convert to an interface index")
    if index != 1:
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    return "lo"


def complete(module):
    module.socket = module.SocketType = socket
    module.AF_UNIX, module.has_ipv6 = AF_UNIX, True
    module.SO_REUSEADDR, module.SO_REUSEPORT = 2, 15
    for name in _ABSENT:
        delattr(module, name)
    for f in (
        socketpair, getaddrinfo, getnameinfo, gethostbyname, gethostbyname_ex, gethostbyaddr, gethostname, getservbyname,
        getservbyport, getprotobyname, inet_pton, inet_ntop, if_nameindex, if_nametoindex, if_indextoname,
    ):  # fmt: skip
        f.__module__ = "_socket"
        setattr(module, f.__name__, f)
