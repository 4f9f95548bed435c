"""What hypothesis finds out about codecs by trying each character, which takes
seconds of each fresh interpreter."""

import sys

_UNICODE = ((0, 0xD7FF), (0xE000, sys.maxunicode))
_CODECS = {"ascii": ((0, 0x7F),), "iso8859-1": ((0, 0xFF),), "utf-8": _UNICODE, "utf-16": _UNICODE, "utf-32": _UNICODE}


def know_codecs(module):
    tried = module.intervals_from_codec
    names = tried.__wrapped__.__code__.co_varnames if hasattr(tried, "__wrapped__") else ()
    if "encodable_intervals" not in names:
        return  # a version that does something else
    pairs = "non_roundtrip" in names

    @module.cache
    def intervals_from_codec(codec_name):
        if codec_name not in _CODECS:
            return tried(codec_name)
        found = module.IntervalSet(_CODECS[codec_name])
        return (found, module.IntervalSet(())) if pairs else found

    module.intervals_from_codec = intervals_from_codec
