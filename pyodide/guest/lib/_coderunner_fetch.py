"""fetch, as Pyodide's programs know it from js and pyodide.http, by urllib.

There is no JavaScript here: what a browser would answer with objects of its own are
Python's here, with the same attributes. See
https://developer.mozilla.org/en-US/docs/Web/API/Response and pyodide.http.
"""

import asyncio
import io
import json as _json
import urllib.error
import urllib.request

NO_XHR = "there is no XMLHttpRequest here: use urllib.request, requests, httpx or pyodide.http.pyfetch"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


def _opener(redirect):
    """An opener without urllib's schemes for files."""
    opener = urllib.request.OpenerDirector()
    follow = urllib.request.HTTPRedirectHandler if redirect == "follow" else _NoRedirect
    for handler in (
        urllib.request.ProxyHandler, urllib.request.DataHandler, urllib.request.UnknownHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPErrorProcessor, follow,
    ):  # fmt: skip
        opener.add_handler(handler())
    return opener


def to_py(value):
    return value.to_py() if hasattr(value, "to_py") else value


def request(url, options):
    """Makes a request and returns its response, whatever its status."""
    headers = to_py(options.get("headers") or {})
    body = to_py(options.get("body"))
    if isinstance(body, str):
        body = body.encode()
    method = str(options.get("method", "GET")).upper()
    asked = urllib.request.Request(str(url), data=None if body is None else bytes(body), method=method)
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        asked.add_header(name, value)
    if body is not None and not asked.has_header("Content-type"):
        asked.add_header("Content-type", "text/plain;charset=UTF-8")
    redirect = options.get("redirect", "follow")
    try:
        found = _opener(redirect).open(asked)
    except urllib.error.HTTPError as e:
        found = e
    with found:
        if redirect == "error" and 300 <= found.status < 400:
            raise OSError(f"{url} redirects")
        return Response(url, found.status, found.reason or "", found.headers, found.url, found.read())


async def fetch(resource, options=None, /, **more):
    """The response to a request, which a thread waits for."""
    options = {**(to_py(options) or {}), **more}
    return await asyncio.to_thread(request, getattr(resource, "url", resource), options)


class Value(dict):
    """An object of a response's JSON, with its members as attributes, too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_py(self, **kwargs):
        return self


class _Headers(dict):
    """Headers by their names in small letters."""

    def get(self, name, default=None):
        return super().get(name.lower(), default)

    def has(self, name):
        return name.lower() in self

    def entries(self):
        return self.items()


class Buffer(bytes):
    """An ArrayBuffer."""

    byteLength = property(len)

    def to_bytes(self):
        return bytes(self)

    def to_py(self):
        return memoryview(self)

    to_memoryview = to_py

    def to_file(self, file):
        file.write(self)


class Response:
    """A Response of fetch."""

    type = "basic"

    def __init__(self, asked, status, text, headers, url, data):
        self.status, self.statusText, self.url, self.redirected = status, text, url or str(asked), bool(url) and url != str(asked)
        self.headers = _Headers()
        for name, value in headers.items():
            name = name.lower()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._data, self.bodyUsed = data, False

    @property
    def ok(self):
        return 200 <= self.status < 300

    def take(self):
        if self.bodyUsed:
            from pyodide.http import BodyUsedError

            raise BodyUsedError
        self.bodyUsed = True
        return self._data

    def clone(self):
        copy = object.__new__(Response)
        copy.__dict__.update(self.__dict__)
        return copy

    async def text(self):
        return self.take().decode(errors="replace")

    async def json(self):
        return _json.loads(self.take(), object_hook=Value)

    async def arrayBuffer(self):
        return Buffer(self.take())

    bytes = arrayBuffer


class FetchResponse:
    """A response of pyodide.http.pyfetch."""

    def __init__(self, request, js_response, abort_controller=None, abort_signal=None):
        self.js_request, self.js_response = request, js_response

    url = property(lambda self: self.js_response.url)
    ok = property(lambda self: self.js_response.ok)
    status = property(lambda self: self.js_response.status)
    status_text = property(lambda self: self.js_response.statusText)
    redirected = property(lambda self: self.js_response.redirected)
    type = property(lambda self: self.js_response.type)
    body_used = property(lambda self: self.js_response.bodyUsed)
    headers = property(lambda self: dict(self.js_response.headers))

    def raise_for_status(self):
        from pyodide.http import HttpStatusError

        if 400 <= self.status < 600:
            raise HttpStatusError(self.status, self.status_text, self.url)

    def clone(self):
        return FetchResponse(self.js_request, self.js_response.clone())

    async def buffer(self):
        return await self.js_response.arrayBuffer()

    async def bytes(self):
        return bytes(self.js_response.take())

    async def memoryview(self):
        return memoryview(self.js_response.take())

    async def text(self):
        return await self.js_response.text()

    string = text

    async def json(self, **kwargs):
        return _json.loads(await self.text(), **kwargs)

    async def unpack_archive(self, *, extract_dir=None, format=None):
        import os
        import shutil
        import tempfile

        suffix = "." + format if format else "-" + self.url.rsplit("/", 1)[-1]
        with tempfile.NamedTemporaryFile(suffix=suffix) as f:
            f.write(self.js_response.take())
            f.flush()
            shutil.unpack_archive(f.name, extract_dir or os.getcwd(), format)

    def abort(self, reason=None):
        """The response is here already."""


async def pyfetch(request, /, *, signal=None, fetcher=None, **kwargs):
    return FetchResponse(request, await (fetcher or fetch)(request, kwargs))


def open_url(url):
    """The text at a URL, whatever the status, as with a browser's XMLHttpRequest."""
    return io.StringIO(request(url, {}).take().decode(errors="replace"))
