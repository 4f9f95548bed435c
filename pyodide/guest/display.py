"""What a program shows: module _coderunner_display, made at boot before
_coderunner.

An object is shown in its richest form: an image, a chart, markup, JSON or text.
The host checks what it gets; here, too, nothing is sent that is too long.
"""

import builtins
import functools
import os
import re
import sys
import warnings
from binascii import b2a_base64

from _coderunner_adapt import _CHANGES, hide

MOST = 8 << 20  # bytes of what is shown, as runners.MaxDisplay
_PLAIN = 20_000  # characters of text beside another form

_METHODS = {
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "image/svg+xml": "_repr_svg_",
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
}
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ORDER = (*_IMAGES, "image/svg+xml", "chart", "text/html", "text/markdown", "text/latex", "application/json", "text/plain")
_TEXTS = ("text/markdown", "text/latex", "text/plain")
_SIMPLE = frozenset((int, str, float, bool, bytes, complex, dict, set, frozenset, range))

_call = _encode = None  # of _coderunner, which sets them
_room = {"count": 100, "bytes": 24 << 20, "omitted": 0}  # the host keeps no more


def display(*objects, raw=False, **options):
    """Shows objects, as in a notebook. What is only text is printed."""
    for value in objects:
        if raw and isinstance(value, dict):
            _send_best(value, "")
        elif not show(value, True):
            print(repr(value))


def show(value, here=False):
    """Shows an object in its richest form. Returns whether it has one but text. Here: more
    output may follow, so what is text beside a page is printed in its place."""
    forms = _found(value)
    if forms:
        _send_best(forms, _text(value), here)
    return bool(forms)


def _found(value):
    """The forms of an object that has more than text."""
    try:
        return None if _table(value) else _forms(value)
    except Exception as e:  # as in a notebook, then it is text
        if not isinstance(e, NotImplementedError):
            print(f"{type(value).__name__} cannot be shown: {type(e).__name__}: {e}", file=sys.stderr)
    return None


def describe(value, here=False):
    """The text and, in JSON, the records of the last expression's value; (None,
    None) if it was shown, or says nothing."""
    kind = type(value)
    if kind in _SIMPLE:
        return repr(value), None
    if "matplotlib.artist" in sys.modules and _drawn(value):
        return None, None
    if kind in (list, tuple):
        return repr(value), None
    if _table(value):
        return repr(value), _records(value)
    forms = _found(value)
    if not forms:
        return repr(value), None
    if _best(forms) in _TEXTS:
        return _plain(forms, _text(value)), None
    _send_best(forms, _text(value), here)
    return None, None


def show_value(value):
    """Shows the value of an expression, as a notebook does at the end of a cell."""
    text = describe(value, True)[0] if value is not None else None
    if text is not None:
        print(text)


def _text(value):
    """The object's repr, unless that is only its class and address."""
    try:
        text = repr(value)
    except Exception:
        return ""
    if not isinstance(text, str) or text.startswith("<") and text.endswith(">"):
        return ""
    return text[:_PLAIN]


def _send_best(forms, plain, here=False):
    """Sends the richest of forms, by media type. Text is printed: so it keeps its place."""
    best = _best(forms)
    if best in _TEXTS:
        print(_plain(forms, plain))
        return
    plain = forms.get("text/plain") or plain
    if here and plain and best == "text/html":
        print(plain)
        plain = ""
    _send(best, forms[best], "" if best in _IMAGES or best == "text/plain" else plain)


def _best(forms):
    return min(forms, key=_rank)


def _plain(forms, plain):
    """The text of an object whose richest form is text."""
    return str(forms.get("text/plain") or plain or forms[_best(forms)])


def _rank(mime):
    if mime.endswith("+json"):
        mime = "chart"
    return _ORDER.index(mime) if mime in _ORDER else len(_ORDER)


def _send(mime, data, plain):
    if mime in _IMAGES and isinstance(data, (bytes, bytearray, memoryview)):
        data = b2a_base64(data, newline=False).decode() if len(data) <= MOST else None
    elif isinstance(data, (bytes, bytearray)):
        data = bytes(data).decode("utf-8", "replace")
    elif data is not None and not isinstance(data, str):
        data = _encode(data) if mime.endswith("json") else str(data)
    if data is None or len(data) > min(MOST * 4 // 3 + 4, _room["bytes"]) or not _room["count"]:
        _room["omitted"] += 1
        if _room["omitted"] > 1:
            return  # the rest is counted at the end
        mime, data, plain = "", "", ""
    else:
        _room["count"] -= 1
        _room["bytes"] -= len(data)
    _call("display", {"mime": mime, "data": data, "plain": str(plain)[:_PLAIN]})


def _forms(value):
    """The forms of an object, by media type."""
    if isinstance(value, type):
        return None
    kind = type(value)
    for root, form in _LIBRARIES.items():
        if root.rstrip(".") in sys.modules and any(c.__module__.startswith(root) for c in kind.__mro__):
            found = form(value)
            if found:
                return found
    bundle = {}
    method = getattr(kind, "_repr_mimebundle_", None)
    if method is not None:
        found = value._repr_mimebundle_(include=None, exclude=None)
        found = found[0] if isinstance(found, tuple) else found
        bundle.update((m, d) for m, d in (found or {}).items() if isinstance(m, str) and d is not None)
    for mime, name in _METHODS.items():
        if mime not in bundle and getattr(kind, name, None) is not None:
            data = getattr(value, name)()
            data = data[0] if isinstance(data, tuple) else data
            if data is not None:
                bundle[mime] = data
    if all(m == "text/plain" for m in bundle):
        return None
    return bundle


# ---- libraries


def _table(value):
    kind = type(value)
    return kind.__name__ in ("DataFrame", "Series") and kind.__module__.partition(".")[0] in ("pandas", "polars")


def _records(table):
    """The rows of a table in JSON, if they are not too many."""
    try:
        if len(table.shape) == 2 and table.shape[0] * table.shape[1] <= 50_000:
            if type(table).__module__.startswith("pandas"):
                if type(table.index).__name__ != "RangeIndex":
                    table = table.reset_index()
                return table.to_json(orient="records", date_format="iso")
            return table.write_json()
    except Exception:
        pass  # such as columns of the same name
    return None


def _plotly(figure):
    if hasattr(figure, "to_plotly_json") and hasattr(figure, "data"):
        return {"application/vnd.plotly.v1+json": figure.to_json()}


def _altair(chart):
    if hasattr(chart, "to_json") and any(c.__name__ == "TopLevelMixin" for c in type(chart).__mro__):
        version = str(getattr(sys.modules["altair"], "SCHEMA_VERSION", "v5")).partition(".")[0]
        return {f"application/vnd.vegalite.{version}+json": chart.to_json(indent=None)}


def _bokeh(model):
    if any(c.__name__ == "LayoutDOM" for c in type(model).__mro__):
        from bokeh.embed import file_html
        from bokeh.resources import INLINE  # no network is needed to look at it

        return {"text/html": file_html(model, INLINE, title="")}


def _folium(layer):
    if hasattr(layer, "get_root"):
        return {"text/html": layer.get_root().render()}


def _figure(figure):
    if hasattr(figure, "savefig"):
        return {"image/png": _png(figure)}


_LIBRARIES = {
    "plotly.": _plotly,
    "altair.": _altair,
    "bokeh.": _bokeh,
    "folium.": _folium,
    "matplotlib.figure": _figure,
}


# ---- matplotlib: figures are shown by show() and at the end, whatever draws them


def _png(figure):
    import io

    out = io.BytesIO()
    figure.canvas.print_figure(out, format="png", bbox_inches="tight")
    _note(figure)
    return out.getvalue()


def _note(figure, seen=True):
    """Notes that a figure was shown, or saved, as it is now."""
    figure._coderunner_shown, figure.stale = "seen" if seen else "saved", False


def _show_figure(figure, asked=False):
    """Shows a figure, unless it was seen as it is or, if the program has not asked to show
    it, was saved."""
    noted = not figure.stale and getattr(figure, "_coderunner_shown", "")
    if noted != "seen" and (asked or not noted) and (figure.get_axes() or figure.get_children()[1:]):
        _send("image/png", _png(figure), "")


def _drawn(value):
    """Whether a value is only what a call of matplotlib has drawn."""
    artist = sys.modules["matplotlib.artist"].Artist
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
    if isinstance(value, figure):
        _show_figure(value)
        return True
    if isinstance(value, (list, tuple)) and value:
        return any(isinstance(v, artist) or isinstance(v, (list, tuple)) and v and _drawn(v) for v in value)
    return isinstance(value, artist) or type(value).__module__.startswith("matplotlib.container")


def finish():
    """Shows the figures that are open at the end and were not shown or saved, and
    tells how much was not shown."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers and helpers.Gcf.figs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no line of the program draws
            for manager in helpers.Gcf.get_all_fig_managers():
                _show_figure(manager.canvas.figure)
    screen = sys.modules["basthon.turtle"].Screen() if "basthon.turtle" in sys.modules else None
    if screen and screen.turtles():
        screen.show_scene()
        _send_best({"image/svg+xml": screen.svg()}, "")
    if _room["omitted"] > 1:
        _call("display", {"omitted": _room["omitted"] - 1})


def _turtle(module):
    """Draws what is there in the end, and says nothing of what only a window has."""
    module.Screen().animation("off")
    for name in ("bye", "exitonclick", "mainloop", "setup", "title", "tracer", "update"):
        setattr(module.Screen, name, lambda self, *args, **kwargs: None)
    module.Screen.window_width, module.Screen.window_height = lambda self: 640, lambda self: 480  # of its scene


hide(finish, _show_figure, _png)  # at the end, when no line of the program runs


def _belong(module, *functions):
    """Makes functions the module's for warnings, which name the line that called it."""
    for function in functions:
        function.__code__ = function.__code__.replace(co_filename=module.__file__)


def _backend_bases(module):
    canvas, print_figure = module.FigureCanvasBase, module.FigureCanvasBase.print_figure

    def print_and_note(self, filename, *args, **kwargs):
        result = print_figure(self, filename, *args, **kwargs)
        file = isinstance(filename, (str, os.PathLike)) and os.path.abspath(filename)
        if not file or file.startswith(_home):
            ending = os.path.splitext(file)[1][1:] if file else ""
            _note(self.figure, file and (kwargs.get("format") or ending or "png").lower() in ("png", "jpg", "jpeg"))
        return result

    def show(cls=None, *args, **kwargs):
        from matplotlib._pylab_helpers import Gcf

        _last[:] = [Gcf.get_active()] if Gcf.figs else _last
        for manager in Gcf.get_all_fig_managers():
            manager.show()
            Gcf.destroy(manager)

    def show_manager(self):
        _show_figure(self.canvas.figure, asked=True)

    hide(print_and_note)
    print_and_note.__name__, print_and_note.__doc__ = "print_figure", print_figure.__doc__
    canvas.print_figure = print_and_note
    module.FigureManagerBase.show = show_manager
    module._Backend.show = classmethod(show)
    _belong(module, print_and_note, show_manager, show, _show_figure, _png)


_last = []  # the manager of the figure that show() closed last


def _pyplot(module):
    """The next command to draw after show() makes a figure, as where show() waits
    for a window to be closed. To the program itself the last one stays current."""
    from matplotlib._pylab_helpers import Gcf

    def current(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if _last and not Gcf.figs and not sys._getframe(1).f_code.co_filename.startswith("/lib/"):
                Gcf.figs[_last[0].num] = _last[0]
            return function(*args, **kwargs)

        _belong(module, call)
        return call

    save = module.savefig

    @functools.wraps(save)
    def savefig(*args, **kwargs):
        with module.gcf().canvas._idle_draw_cntx():  # it draws for the window again
            return save(*args, **kwargs)

    _belong(module, savefig)
    _headless(module, "switch_backend")
    module.gcf, module.gca, module.savefig = map(current, (module.gcf, module.gca, savefig))


_WINDOWS = re.compile("(gtk[34]|qt5?|tk|wx|web)(agg|cairo)?|macosx|nbagg|notebook|widget", re.IGNORECASE)


def _matplotlib(module):
    """Agg, where the wheel's own backend is the browser's, and for those that open
    windows."""
    if not os.environ.get("MPLBACKEND") or _WINDOWS.fullmatch(os.environ["MPLBACKEND"]):
        for parameters in (module.rcParams, module.rcParamsDefault, module.rcParamsOrig):
            parameters["backend"] = "agg"
    _headless(module, "use")


def _headless(module, name):
    chosen = getattr(module, name)

    @functools.wraps(chosen)
    def choose(backend, *args, **kwargs):
        return chosen("agg" if isinstance(backend, str) and _WINDOWS.fullmatch(backend) else backend, *args, **kwargs)

    setattr(module, name, choose)


def _shower(name="show", result=None):
    def change(module):
        def shows(value=None, *args, **kwargs):
            if value is not None:
                display(value)
            return result

        shows.__name__, shows.__module__ = name, module.__name__
        setattr(module, name, shows)

    return change


_home = os.getcwd().rstrip("/") + "/"
builtins.display = display
_CHANGES.update(
    {
        "basthon.turtle": _turtle,
        "matplotlib": _matplotlib,
        "matplotlib.backend_bases": _backend_bases,
        "matplotlib.pyplot": _pyplot,
        "PIL.ImageShow": _shower(result=True),
        "plotly.io._renderers": _shower(),
        "bokeh.io.showing": _shower(),
        "IPython.core.display_functions": lambda module: setattr(module, "display", display),
    }
)
