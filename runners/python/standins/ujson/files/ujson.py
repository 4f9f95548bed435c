"""ujson's functions on the library's json, in place of C's."""

import importlib.metadata
import json

__version__ = importlib.metadata.version("ujson")

JSONDecodeError = type("JSONDecodeError", (ValueError,), {"__module__": "ujson"})
_HTML = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}


def dumps(
    obj, ensure_ascii=True, encode_html_chars=False, escape_forward_slashes=True, sort_keys=False, indent=0,
    allow_nan=True, reject_bytes=True, default=None, separators=None, **options,
):  # fmt: skip
    def plain(o):
        if hasattr(o, "__json__"):
            return json.loads(o.__json__())
        if hasattr(o, "toDict"):
            return o.toDict()
        if isinstance(o, bytes) and not reject_bytes:
            return o.decode()
        if default is not None:
            return default(o)
        raise TypeError(f"{o!r} is not JSON serializable")

    try:
        text = json.dumps(
            obj, ensure_ascii=ensure_ascii, sort_keys=sort_keys, indent=indent if indent > 0 else None, allow_nan=allow_nan,
            default=plain, separators=separators or ((",", ":") if indent <= 0 else (",", ": ")),
        )  # fmt: skip
    except ValueError as e:
        raise OverflowError("Maximum recursion level reached" if "Circular" in str(e) else "Invalid value when encoding double") from None
    if escape_forward_slashes:
        text = text.replace("/", "\\/")
    return text.translate(_HTML) if encode_html_chars else text


def loads(obj, **options):
    try:
        return json.loads(obj)
    except ValueError as e:
        raise JSONDecodeError(str(e)) from None


def dump(obj, fp, **options):
    fp.write(dumps(obj, **options))


def load(fp, **options):
    return loads(fp.read(), **options)


encode, decode = dumps, loads
