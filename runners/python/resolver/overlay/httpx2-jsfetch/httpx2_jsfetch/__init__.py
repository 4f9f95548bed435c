"""httpx2's transport for Emscripten asks a browser's JavaScript. There is none
here, and httpx2 does not install its ordinary transport, so this one asks the
module socket whether there is a network and reports what it says."""

import socket

from httpx2._exceptions import ConnectError
from httpx2._transports.base import AsyncBaseTransport, BaseTransport

__all__ = ["AsyncJavascriptFetchTransport", "JavascriptFetchTransport"]


def _connect(request):
    url = request.url
    try:
        socket.create_connection((url.host, url.port or (443 if url.scheme == "https" else 80))).close()
    except OSError as e:
        raise ConnectError(str(e), request=request) from e
    raise ConnectError("httpx2 has no transport here; use urllib3 or http.client", request=request)


class JavascriptFetchTransport(BaseTransport):
    def __init__(self, *args, **kwargs):
        pass

    def handle_request(self, request):
        _connect(request)


class AsyncJavascriptFetchTransport(AsyncBaseTransport):
    def __init__(self, *args, **kwargs):
        pass

    async def handle_async_request(self, request):
        _connect(request)
