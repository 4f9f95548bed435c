"""What programs for Pyodide take from JavaScript most often: fetch. There is no
JavaScript here, so nothing else is in this module: libraries that ask it for a
browser's objects find none, and go on without a browser."""

from _coderunner_fetch import NO_XHR as _NO_XHR, fetch  # noqa: F401


class Object:
    """For the options of fetch."""

    fromEntries = staticmethod(dict)


# Python puts the origin into the error of "from js import ...", which hides ours.
__spec__.origin = "there is no JavaScript here, only its fetch. Run JavaScript with the language 'javascript'."


def __getattr__(name):
    raise AttributeError(_NO_XHR if name == "XMLHttpRequest" else f"js has no {name!r}: {__spec__.origin}", name=name)
