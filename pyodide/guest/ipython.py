"""IPython.display for programs that have no IPython: module _coderunner_ipython,
made at boot.

Its finder comes last, so an IPython that is installed is found first.
"""

import importlib.abc
import importlib.util
import os
import sys

from _coderunner_display import display

_NAMES = ("IPython", "IPython.core", "IPython.core.display", "IPython.core.display_functions", "IPython.display")


class DisplayObject:
    """Data of one media type: given, or read from a file."""

    _mime = "text/plain"
    _read = "r"

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if data is not None and isinstance(data, (str, os.PathLike)) and filename is None and self._is_file(data):
            filename, data = data, None
        if url is not None and data is None and filename is None:
            data = self._of_url(url)
        self.data, self.url, self.filename, self.metadata = data, url, filename, metadata or {}
        if filename is not None:
            self.reload()

    def reload(self):
        with open(self.filename, self._read) as f:
            self.data = f.read()

    def _is_file(self, data):
        return False

    def _of_url(self, url):
        raise OSError(f"{url}: there is no network here to load it from; give the data")

    def _repr_mimebundle_(self, include=None, exclude=None):
        return None if self.data is None else {self._mime: self.data}


class TextDisplayObject(DisplayObject):
    pass


class Pretty(TextDisplayObject):
    def __repr__(self):
        return str(self.data)


class HTML(TextDisplayObject):
    _mime = "text/html"

    def _repr_html_(self):
        return self.data

    __html__ = _repr_html_


class Markdown(TextDisplayObject):
    _mime = "text/markdown"

    def _repr_markdown_(self):
        return self.data


class Latex(TextDisplayObject):
    _mime = "text/latex"

    def _repr_latex_(self):
        return self.data


class Math(Latex):
    def _repr_latex_(self):
        return f"$\\displaystyle {self.data.strip('$')}$"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: self._repr_latex_()}


class SVG(DisplayObject):
    _mime = "image/svg+xml"

    def _is_file(self, data):
        return "<" not in str(data)

    def _repr_svg_(self):
        return self.data


class JSON(DisplayObject):
    _mime = "application/json"

    def _repr_json_(self):
        return self.data


class GeoJSON(JSON):
    _mime = "application/geo+json"


class Javascript(TextDisplayObject):
    def __repr__(self):
        return f"Javascript({self.data!r})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return None  # nothing runs it


class Code(TextDisplayObject):
    _mime = "text/markdown"

    def __init__(self, data=None, url=None, filename=None, language="python"):
        super().__init__(data, url, filename)
        self.language = language

    def __repr__(self):
        return str(self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: f"```{self.language}\n{self.data}\n```"}


class Image(DisplayObject):
    _read = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, **more):
        super().__init__(data, url, filename)
        if self.data is None:
            raise ValueError("No image data found. Expecting filename, url, or data.")
        self.width, self.height = width, height
        if isinstance(self.data, str) and not self.data.startswith("data:"):
            raise ValueError(f"Cannot read the image {self.data[:100]!r}: no such file")

    def _is_file(self, data):
        return os.path.exists(data)

    @property
    def _mime(self):
        data = bytes(self.data[:12])
        for mime, start in (("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF8"), ("image/webp", b"RIFF")):
            if data.startswith(start):
                return mime
        return "image/png"


class IFrame:
    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        return f'<iframe width="{self.width}" height="{self.height}" src="{self.src}"></iframe>'


class FileLink:
    """A file: it comes back with the result."""

    def __init__(self, path, *args, **kwargs):
        self.path = path

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    pass


class Audio(DisplayObject):
    _read = "rb"

    def __init__(self, data=None, filename=None, url=None, **more):
        super().__init__(None, None, filename)

    def __repr__(self):
        return f"{type(self).__name__}({self.filename!r}): write it to a file, which comes back with the result"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return None


class Video(Audio):
    pass


class DisplayHandle:
    def __init__(self, display_id=None):
        self.display_id = display_id

    def display(self, value, **more):
        display(value)

    update = display


class ProgressBar:
    def __init__(self, total):
        self.total, self.progress = total, 0

    def __iter__(self):
        for self.progress in range(self.total):
            yield self.progress

    def __repr__(self):
        return f"{self.progress}/{self.total}"


def _nothing(*args, **kwargs):
    return None


def _shown(value, *more, **options):
    display(value)


def _fill(module):
    for name, thing in list(globals().items()):
        if isinstance(thing, type) and thing.__module__ == __name__ and not name.startswith("_"):
            setattr(module, name, thing)
    module.display = display
    module.clear_output = module.set_matplotlib_formats = module.set_matplotlib_close = _nothing
    module.update_display = module.publish_display_data = _shown
    for kind in ("png", "jpeg", "svg", "html", "markdown", "latex", "json", "pretty"):
        setattr(module, "display_" + kind, _shown)


class _Standin(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in _NAMES:
            return importlib.util.spec_from_loader(name, self, is_package=name in ("IPython", "IPython.core"))

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.get_ipython = _nothing  # this is no notebook
        if module.__name__ in ("IPython", "IPython.core"):
            module.version_info, module.__version__, module.display = (9, 0, 0, ""), "9.0.0", display
        else:
            _fill(module)


sys.meta_path.append(_Standin())
