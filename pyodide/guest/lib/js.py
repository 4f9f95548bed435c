"""What programs for Pyodide take from JavaScript most often: fetch. There is no
JavaScript here, so nothing else is in this module."""

from _coderunner_fetch import NO_XHR as _NO_XHR, fetch  # noqa: F401


class Object:
    """For the options of fetch."""

    fromEntries = staticmethod(dict)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    why = _NO_XHR if name == "XMLHttpRequest" else "there is no JavaScript here. Run JavaScript with the language 'javascript'."
    raise ImportError(f"cannot import name {name!r} from 'js': {why}", name="js")
