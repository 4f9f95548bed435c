"""httpx2's transport for Emscripten asks a browser's JavaScript. There is none
here, but there are sockets, so this is its transport for all other systems."""

from httpx2._transports.default import AsyncHTTPTransport as AsyncJavascriptFetchTransport
from httpx2._transports.default import HTTPTransport as JavascriptFetchTransport

__all__ = ["AsyncJavascriptFetchTransport", "JavascriptFetchTransport"]
