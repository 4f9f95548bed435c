"""orjson's functions on the library's json, in place of Rust's."""

import dataclasses
import datetime
import enum
import importlib.metadata
import json
import sys
import uuid

__version__ = importlib.metadata.version("orjson")

OPT_INDENT_2 = 1 << 0
OPT_NAIVE_UTC = 1 << 1
OPT_NON_STR_KEYS = 1 << 2
OPT_OMIT_MICROSECONDS = 1 << 3
OPT_SERIALIZE_NUMPY = 1 << 4
OPT_SORT_KEYS = 1 << 5
OPT_STRICT_INTEGER = 1 << 6
OPT_UTC_Z = 1 << 7
OPT_PASSTHROUGH_SUBCLASS = 1 << 8
OPT_PASSTHROUGH_DATETIME = 1 << 9
OPT_APPEND_NEWLINE = 1 << 10
OPT_PASSTHROUGH_DATACLASS = 1 << 11
OPT_SERIALIZE_DATACLASS = OPT_SERIALIZE_UUID = 0  # always done

_DEEPEST = 254  # calls of default on what default returned
_INFINITIES = (float("inf"), float("-inf"))


JSONEncodeError = TypeError


class JSONDecodeError(json.JSONDecodeError):
    """A text that is not JSON."""

    __module__ = "orjson"


class Fragment(tuple):
    """JSON that is written as it is."""

    __slots__ = ()

    def __new__(cls, contents):
        return super().__new__(cls, (contents,))

    @property
    def contents(self):
        return self[0]


class _Written(float):
    """Text that is written as it is: json's encoder in Python takes it for a number."""

    def __new__(cls, text):
        self = super().__new__(cls)
        self.text = text
        return self


def dumps(obj, /, default=None, option=None):
    if option is not None and type(option) is not int:
        raise JSONEncodeError("Invalid opts")
    option = option or 0
    separators = (",", ": ") if option & OPT_INDENT_2 else (",", ":")
    indent = "  " if option & OPT_INDENT_2 else None
    try:
        writer = _Writer(default, option)
        plain, sort = writer.plain(obj, 0), bool(option & OPT_SORT_KEYS)
        if writer.wrote:
            write = json.encoder.encode_basestring
            encode = json.encoder._make_iterencode(
                None, None, write, indent, lambda f: f.text if type(f) is _Written else repr(f), separators[1], separators[0],
                sort, False, False,
            )  # fmt: skip
            text = "".join(encode(plain, 0))
        else:
            text = json.dumps(plain, ensure_ascii=False, check_circular=False, sort_keys=sort, indent=indent, separators=separators)
        return text.encode() + (b"\n" if option & OPT_APPEND_NEWLINE else b"")
    except RecursionError:
        raise JSONEncodeError("Recursion limit reached") from None
    except UnicodeEncodeError:
        raise JSONEncodeError("str is not valid UTF-8: surrogates not allowed") from None


class _Writer:
    def __init__(self, default, option):
        self.default, self.option = default, option
        self.wrote = False  # a _Written

    def written(self, text):
        self.wrote = True
        return _Written(text)

    def plain(self, obj, asked):
        """Returns the value made of what json has; asked counts the calls of default."""
        kind, option = type(obj), self.option
        if kind is str or obj is None or kind is bool:
            return obj
        if kind is int:
            if option & OPT_STRICT_INTEGER and abs(obj) >= 1 << 53:
                raise JSONEncodeError("Integer exceeds 53-bit range")
            if not -(1 << 63) <= obj < 1 << 64:
                raise JSONEncodeError("Integer exceeds 64-bit range")
            return obj
        if kind is float:
            if obj != obj or obj in _INFINITIES:
                return None
            return obj if "e-0" not in (text := repr(obj)) else self.written(text.replace("e-0", "e-"))
        if kind is list or kind is tuple:
            return [self.plain(value, asked) for value in obj]
        if kind is dict:
            return {_key(key, option): self.plain(value, asked) for key, value in obj.items()}
        if not option & OPT_PASSTHROUGH_DATETIME and (text := _moment(obj, kind, option)) is not None:
            return text
        if kind is uuid.UUID:
            return str(obj)
        if isinstance(obj, enum.Enum):
            return self.plain(obj.value, asked)
        if kind is Fragment:
            return self.written(obj.contents if isinstance(obj.contents, str) else obj.contents.decode())
        if not option & OPT_PASSTHROUGH_SUBCLASS:
            if isinstance(obj, str):
                return str.__str__(obj)
            for base in (int, list, dict):
                if isinstance(obj, base):
                    return self.plain(base(obj), asked)
        if dataclasses.is_dataclass(obj) and kind is not type and not option & OPT_PASSTHROUGH_DATACLASS:
            fields = vars(obj) if hasattr(obj, "__dict__") else {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}
            return {name: self.plain(value, asked) for name, value in fields.items() if not name.startswith("_")}
        if option & OPT_SERIALIZE_NUMPY and (numpy := sys.modules.get("numpy")):
            if isinstance(obj, numpy.datetime64):
                return _moment(obj.astype("datetime64[us]").item(), datetime.datetime, option)
            if isinstance(obj, (numpy.ndarray, numpy.generic)) and obj.dtype != object:
                return self.plain(obj.tolist(), asked)
        return self.other(obj, asked)

    def other(self, obj, asked):
        refusal = f"Type is not JSON serializable: {type(obj).__name__}"
        if self.default is None:
            raise JSONEncodeError(refusal)
        if asked >= _DEEPEST:
            raise JSONEncodeError("default serializer exceeds recursion limit")
        try:
            made = self.default(obj)
        except Exception as e:
            raise JSONEncodeError(refusal) from e
        return self.plain(made, asked + 1)


def _moment(obj, kind, option):
    if kind is datetime.date:
        return obj.isoformat()
    if kind is not datetime.datetime and kind is not datetime.time:
        return None
    if option & OPT_OMIT_MICROSECONDS:
        obj = obj.replace(microsecond=0)
    if kind is datetime.time:
        if obj.tzinfo is not None:
            raise JSONEncodeError("datetime.time must not have tzinfo set")
        return obj.isoformat()
    if obj.tzinfo is None and option & OPT_NAIVE_UTC:
        obj = obj.replace(tzinfo=datetime.UTC)
    text = obj.isoformat()
    return text[:-6] + "Z" if option & OPT_UTC_Z and text.endswith("+00:00") else text


def _key(key, option):
    if type(key) is str:
        return key
    if not option & OPT_NON_STR_KEYS:
        if isinstance(key, str) and not option & OPT_PASSTHROUGH_SUBCLASS and not isinstance(key, enum.Enum):
            return str.__str__(key)
        raise JSONEncodeError("Dict key must be str")
    if isinstance(key, enum.Enum):
        return _key(key.value, option)
    if (text := _moment(key, type(key), option)) is not None:
        return text
    if key is None or isinstance(key, (bool, float)):
        return "null" if key is None or key != key or key in _INFINITIES else json.dumps(key)
    if isinstance(key, (str, int, uuid.UUID)):
        return str(key)
    raise JSONEncodeError("Dict key must a type serializable with OPT_NON_STR_KEYS")


def loads(obj, /):
    if not isinstance(obj, (bytes, bytearray, memoryview, str)):
        raise JSONDecodeError("Input must be bytes, bytearray, memoryview, or str", "", 0)
    text = ""
    try:
        text = obj if isinstance(obj, str) else bytes(obj).decode()
        if not text:
            raise JSONDecodeError("Input is a zero-length, empty document", "", 0)
        return json.loads(text, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise JSONDecodeError("str is not valid UTF-8: surrogates not allowed", "", 0) from None
    except json.JSONDecodeError as e:
        raise JSONDecodeError(e.msg, e.doc, e.pos) from None
    except RecursionError:
        raise JSONDecodeError("Recursion limit reached", text, 0) from None


def _refuse(constant):
    raise json.JSONDecodeError("unexpected character, expected a JSON value", constant, 0)
