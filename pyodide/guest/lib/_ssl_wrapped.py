"""ssl.SSLObject and ssl.SSLSocket."""

import errno
from socket import SO_TYPE, SOCK_STREAM, SOL_SOCKET, getdefaulttimeout, socket

from _ssl import MemoryBIO, SSLEOFError, SSLError, SSLSession, SSLWantReadError, SSLWantWriteError  # noqa: F401


class _Connection:
    """What both have: questions to _sslobj, which SSLSocket answers before it is
    connected, too."""

    _sslobj = None

    @classmethod
    def _refuse(cls, made):
        raise TypeError(f"{cls.__name__} does not have a public constructor. Instances are returned by SSLContext.{made}().")

    def _checked(self):
        if self._sslobj is None:
            raise ValueError("No SSL wrapper around " + str(self))
        return self._sslobj

    def _asked(self, name, *args):
        return None if self._sslobj is None else getattr(self._sslobj, name)(*args)

    @property
    def session(self):
        return self._sslobj and self._sslobj.session

    @session.setter
    def session(self, session):
        self._session = session
        if self._sslobj is not None:
            self._sslobj.session = session

    @property
    def session_reused(self):
        return self._sslobj and self._sslobj.session_reused

    def _chain(self, get):
        from _ssl import ENCODING_DER

        return [c.public_bytes(ENCODING_DER) for c in self._asked(get) or ()]

    def get_verified_chain(self):
        """The chain that was verified, in DER."""
        return self._chain("get_verified_chain")

    def get_unverified_chain(self):
        """The chain as the peer has sent it, in DER."""
        return self._chain("get_unverified_chain")

    def selected_npn_protocol(self):
        import warnings

        warnings.warn("ssl NPN is deprecated, use ALPN instead", DeprecationWarning, stacklevel=2)

    def selected_alpn_protocol(self):
        return self._asked("selected_alpn_protocol")

    def cipher(self):
        return self._asked("cipher")

    def shared_ciphers(self):
        return self._asked("shared_ciphers")

    def compression(self):
        return None

    def version(self):
        return self._asked("version")

    def verify_client_post_handshake(self):
        return self._checked().verify_client_post_handshake()


class SSLObject(_Connection):
    """A connection over two MemoryBIOs, without a socket."""

    def __init__(self, *args, **kwargs):
        self._refuse("wrap_bio")

    @classmethod
    def _create(cls, incoming, outgoing, server_side=False, server_hostname=None, session=None, context=None):
        self = cls.__new__(cls)
        self._sslobj = context._wrap_bio(incoming, outgoing, server_side=server_side, server_hostname=server_hostname, owner=self, session=session)
        return self

    @property
    def context(self):
        return self._sslobj.context

    @context.setter
    def context(self, context):
        self._sslobj.context = context

    @property
    def server_side(self):
        return self._sslobj.server_side

    @property
    def server_hostname(self):
        return self._sslobj.server_hostname

    def read(self, len=1024, buffer=None):
        return self._sslobj.read(len) if buffer is None else self._sslobj.read(len, buffer)

    def write(self, data):
        return self._sslobj.write(data)

    def getpeercert(self, binary_form=False):
        return self._sslobj.getpeercert(binary_form)

    def pending(self):
        return self._sslobj.pending()

    def do_handshake(self):
        self._sslobj.do_handshake()

    def unwrap(self):
        return self._sslobj.shutdown()

    def get_channel_binding(self, cb_type="tls-unique"):
        return self._sslobj.get_channel_binding(cb_type)


class SSLSocket(_Connection, socket):
    """A socket whose bytes are a TLS connection's."""

    def __init__(self, *args, **kwargs):
        self._refuse("wrap_socket")

    @classmethod
    def _create(cls, sock, server_side=False, do_handshake_on_connect=True, suppress_ragged_eofs=True, server_hostname=None, context=None, session=None):
        if sock.getsockopt(SOL_SOCKET, SO_TYPE) != SOCK_STREAM:
            raise NotImplementedError("only stream sockets are supported")
        if server_side and server_hostname:
            raise ValueError("server_hostname can only be specified in client mode")
        if session is not None and server_side:
            raise ValueError("session can only be specified in client mode")
        if context.check_hostname and not server_hostname and not server_side:
            raise ValueError("check_hostname requires server_hostname")
        timeout = sock.gettimeout()
        self = cls.__new__(cls, family=sock.family, type=sock.type, proto=sock.proto, fileno=sock.fileno())
        socket.__init__(self, family=sock.family, type=sock.type, proto=sock.proto, fileno=sock.fileno())
        sock.detach()
        try:
            self._context, self._session, self._closed, self._sslobj = context, session, False, None
            self.server_side, self.server_hostname = server_side, context._encode_hostname(server_hostname)
            self.do_handshake_on_connect, self.suppress_ragged_eofs = do_handshake_on_connect, suppress_ragged_eofs
            self._connected = self._has_peer()
            self.settimeout(timeout)
            if self._connected:
                self._wrap()
                if do_handshake_on_connect:
                    if timeout == 0.0:
                        raise ValueError("do_handshake_on_connect should not be specified for non-blocking sockets")
                    self.do_handshake()
        except BaseException:
            self.close()
            raise
        return self

    def _has_peer(self):
        try:
            self.getpeername()
            return True
        except OSError as e:
            if e.errno not in (errno.ENOTCONN, errno.EINVAL):
                raise
        # Not connected yet, or no longer: then what came in plain text must not
        # be taken for the connection's.
        blocking = self.getblocking()
        self.setblocking(False)
        try:
            first = socket.recv(self, 1)
        except OSError as e:
            if e.errno not in (errno.ENOTCONN, errno.EINVAL, errno.EAGAIN):
                raise
            first = b""
        finally:
            self.setblocking(blocking)
        if first:
            raise _early_data()
        return False

    def _wrap(self):
        self._sslobj = self._context._wrap_socket(self, self.server_side, self.server_hostname, owner=self, session=self._session, methods=socket)

    @property
    def context(self):
        return self._context

    @context.setter
    def context(self, context):
        self._context = context
        self._sslobj.context = context

    def dup(self):
        raise NotImplementedError(f"Can't dup() {self.__class__.__name__} instances")

    def _waits(self, what, method, *args):
        """Calls a method; a timeout says what did not end."""
        try:
            return method(*args)
        except TimeoutError as e:
            if e.errno is None:
                raise TimeoutError(f"The {what} operation timed out") from None
            raise

    def read(self, len=1024, buffer=None):
        sslobj = self._checked()
        try:
            return self._waits("read", sslobj.read, len) if buffer is None else self._waits("read", sslobj.read, len, buffer)
        except SSLEOFError:
            if not self.suppress_ragged_eofs:
                raise
            return b"" if buffer is None else 0

    def write(self, data):
        return self._waits("write", self._checked().write, data)

    def getpeercert(self, binary_form=False):
        self._check_connected()
        return self._sslobj.getpeercert(binary_form)

    def _check_connected(self):
        if not self._connected:
            self.getpeername()  # ENOTCONN
        self._checked()

    def send(self, data, flags=0):
        if self._sslobj is None:
            return super().send(data, flags)
        self._no_flags("send", flags)
        return self.write(data)

    def sendto(self, data, flags_or_addr, addr=None):
        if self._sslobj is not None:
            raise ValueError(f"sendto not allowed on instances of {self.__class__}")
        return super().sendto(data, flags_or_addr) if addr is None else super().sendto(data, flags_or_addr, addr)

    def sendmsg(self, *args, **kwargs):
        raise NotImplementedError(f"sendmsg not allowed on instances of {self.__class__}")

    def sendall(self, data, flags=0):
        if self._sslobj is None:
            return super().sendall(data, flags)
        self._no_flags("sendall", flags)
        with memoryview(data) as view, view.cast("B") as data:
            sent = 0
            while sent < len(data):
                sent += self.write(data[sent:])

    def sendfile(self, file, offset=0, count=None):
        return self._sendfile_use_send(file, offset, count) if self._sslobj is not None else super().sendfile(file, offset, count)

    def recv(self, buflen=1024, flags=0):
        if self._sslobj is None:
            return super().recv(buflen, flags)
        self._no_flags("recv", flags)
        return self.read(buflen)

    def recv_into(self, buffer, nbytes=None, flags=0):
        if nbytes is None:
            with memoryview(buffer) as view:
                nbytes = view.nbytes or 1024
        if self._sslobj is None:
            return super().recv_into(buffer, nbytes, flags)
        self._no_flags("recv_into", flags)
        return self.read(nbytes, buffer)

    def recvfrom(self, buflen=1024, flags=0):
        if self._sslobj is not None:
            raise ValueError(f"recvfrom not allowed on instances of {self.__class__}")
        return super().recvfrom(buflen, flags)

    def recvfrom_into(self, buffer, nbytes=None, flags=0):
        if self._sslobj is not None:
            raise ValueError(f"recvfrom_into not allowed on instances of {self.__class__}")
        return super().recvfrom_into(buffer, nbytes or 0, flags)

    def recvmsg(self, *args, **kwargs):
        raise NotImplementedError(f"recvmsg not allowed on instances of {self.__class__}")

    def recvmsg_into(self, *args, **kwargs):
        raise NotImplementedError(f"recvmsg_into not allowed on instances of {self.__class__}")

    def _no_flags(self, name, flags):
        if flags:
            raise ValueError(f"non-zero flags not allowed in calls to {name}() on {self.__class__}")

    def pending(self):
        return 0 if self._sslobj is None else self._sslobj.pending()

    def shutdown(self, how):
        self._sslobj = None
        super().shutdown(how)

    def unwrap(self):
        sock = self._waits("read", self._checked().shutdown)
        self._sslobj = None
        return sock

    def _real_close(self):
        self._sslobj = None
        super()._real_close()

    def do_handshake(self, block=False):
        self._check_connected()
        timeout = self.gettimeout()
        try:
            if timeout == 0.0 and block:
                self.settimeout(None)
            self._waits("handshake", self._sslobj.do_handshake)
        finally:
            self.settimeout(timeout)

    def _real_connect(self, addr, connect_ex):
        if self.server_side:
            raise ValueError("can't connect in server-side mode")
        if self._connected or self._sslobj is not None:
            raise ValueError("attempt to connect already-connected SSLSocket!")
        self._wrap()
        try:
            result = super().connect_ex(addr) if connect_ex else super().connect(addr)
            if not result:
                self._connected = True
                if self.do_handshake_on_connect:
                    self.do_handshake()
            return result
        except OSError, ValueError:
            self._sslobj = None
            raise

    def connect(self, addr):
        self._real_connect(addr, False)

    def connect_ex(self, addr):
        return self._real_connect(addr, True)

    def accept(self):
        sock, addr = super().accept()
        sock = self.context.wrap_socket(
            sock, do_handshake_on_connect=self.do_handshake_on_connect, suppress_ragged_eofs=self.suppress_ragged_eofs, server_side=True
        )
        return sock, addr

    def get_channel_binding(self, cb_type="tls-unique"):
        if self._sslobj is not None:
            return self._sslobj.get_channel_binding(cb_type)
        if cb_type != "tls-unique":
            raise ValueError(f"{cb_type} channel binding type not implemented")
        return None


def _early_data():
    e = SSLError(1, "Closed before TLS handshake with data in recv buffer.")
    e.library, e.reason = None, e.strerror  # as in CPython
    return e
